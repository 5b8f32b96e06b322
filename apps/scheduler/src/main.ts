import { runService } from '#common/kernel/service.js'
import { service } from './scheduler.module.js'

await runService(service)
