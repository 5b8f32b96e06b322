import { runService } from '#common/kernel/service.js'
import { service } from './gateway.module.js'

await runService(service)
