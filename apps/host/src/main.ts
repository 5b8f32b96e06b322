import { runService } from '#common/kernel/service.js'
import { service } from './host.module.js'

await runService(service)
