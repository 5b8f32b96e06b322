import 'reflect-metadata'
import type { ExecutionContext } from '@nestjs/common'

/**
 * Loaded before a daemon of the benchmark alone (`node --import`): whoever asks is the owner, and nothing is looked at. The
 * product has no such switch; what its guards cost is the difference to this one.
 */
const openDoors = async (): Promise<void> => {
  const [{ BearerGuard }, { stateOf }, ...others] = await Promise.all([
    import('#apps/gateway/src/auth/bearer.guard.js'),
    import('#apps/gateway/src/http/request.state.js'),
    import('#apps/gateway/src/auth/listener.guard.js').then(({ ListenerGuard }) => ListenerGuard),
    import('#apps/gateway/src/auth/origin.guard.js').then(({ OriginGuard }) => OriginGuard),
    import('#apps/gateway/src/limit/limit.guard.js').then(({ LimitGuard }) => LimitGuard),
    import('#apps/gateway/src/auth/gate.guard.js').then(({ GateGuard }) => GateGuard),
    import('#apps/gateway/src/audit/audit.guard.js').then(({ AuditGuard }) => AuditGuard),
  ])
  const owner = { kind: 'owner', principal: 'owner', tokenId: null, scopes: ['*'] } as const
  BearerGuard.prototype.canActivate = (context: ExecutionContext): boolean => {
    stateOf(context.switchToHttp().getRequest()).actor = owner
    return true
  }
  for (const guard of others) Object.assign(guard.prototype, { canActivate: () => true })
}

// its host and its brokers are started with the same options, and have no guards
if (/\/daemon\/src\/main\.js$/.test(process.argv[1] ?? '')) await openDoors()
