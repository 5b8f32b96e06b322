import { runService } from '#common/kernel/service.js'
import { service } from './models.module.js'

await runService(service)
