import { Inject, Injectable } from '@nestjs/common'
import type { appOperations } from '#common/contract/app.operations.js'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { AppService } from './app.service.js'
import { GrantService } from './grant.service.js'

/** Apps and their grants, as routes ask for them. */
@Injectable()
export class AppHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<(typeof appOperations)[number]['name']>

  constructor(@Inject(AppService) apps: AppService, @Inject(GrantService) grants: GrantService) {
    this.handlers = {
      'apps.create': (ctx, input) => apps.create(ctx, input),
      'apps.list': (_ctx, input) => apps.list(input),
      'apps.retrieve': (_ctx, { app }) => apps.retrieve(app),
      'apps.update': (ctx, input) => apps.update(ctx, input),
      'apps.delete': (ctx, { app }) => apps.delete(ctx, app),
      'apps.grant.set': (ctx, input) => grants.set(ctx, input),
      'apps.grant.revoke': (ctx, input) => grants.revoke(ctx, input),
      'grant.get': (ctx, input) => grants.get(ctx, input),
    }
  }
}
