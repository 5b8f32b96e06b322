import { runService } from '#common/kernel/service.js'
import { service } from './objects.module.js'

await runService(service)
