import { runService } from '#common/kernel/service.js'
import { service } from './lifecycle.module.js'

await runService(service)
