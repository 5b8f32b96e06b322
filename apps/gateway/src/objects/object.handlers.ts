import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf, type RegisteredObject } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { AppRepository } from '../apps/app.repository.js'
import { hiddenApp } from '../apps/grant.rules.js'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { PublishTokenService } from './publish-token.service.js'

const register = contract['customObjects.register']
const rotate = contract['customObjects.rotate']
const unregister = contract['customObjects.unregister']

/**
 * Objects as far as they have tokens, which are kept here. The object comes first: who dies before its token is minted is
 * given it by the repetition under the same key, and so is the secret that deliveries are signed with: one answer has both.
 */
@Injectable()
export class ObjectHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<'customObjects.register' | 'customObjects.rotate' | 'customObjects.unregister'>

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(AppRepository) private readonly apps: AppRepository,
    @Inject(PublishTokenService) private readonly tokens: PublishTokenService,
  ) {
    this.handlers = {
      'customObjects.register': (ctx, input) => this.#register(ctx, input),
      'customObjects.rotate': (ctx, input) => this.#rotate(ctx, input),
      'customObjects.unregister': (ctx, input) => this.#unregister(ctx, input),
    }
  }

  async #register(ctx: Context, input: InputOf<typeof register>): Promise<RegisteredObject> {
    const { app, ...body } = input
    const request = { operation: register.name, input }
    await this.tokens.requireOwnKey(ctx, request)
    const appId = app === undefined ? null : await this.#appId(app)
    // with notes of its own: what the caller is told of a repetition is decided by the token alone
    const { existed: _, ...object } = await this.bus.call(
      contract['objects.object.register'],
      { ...ctx, notes: {} },
      { ...body, app_id: appId },
    )
    const token = await this.tokens.mint(ctx, request, object)
    return { ...object, publish_token: token, signing_secret: token && object.signing_secret }
  }

  async #rotate(ctx: Context, input: InputOf<typeof rotate>): Promise<OutputOf<typeof rotate>> {
    const { what, ref, overlap } = input
    if (what === 'signing_secret') {
      const { signing_secret } = await this.bus.call(contract['objects.object.rotateSecret'], ctx, { ref, overlap })
      return { publish_token: null, signing_secret }
    }
    const object = await this.bus.call(contract['customObjects.retrieve'], ctx, { ref })
    const token = await this.tokens.mint(ctx, { operation: rotate.name, input }, object, overlap)
    return { publish_token: token, signing_secret: null }
  }

  async #unregister(ctx: Context, { ref }: InputOf<typeof unregister>): Promise<OutputOf<typeof unregister>> {
    const { id, deleted } = await this.bus.call(contract['objects.object.unregister'], ctx, { ref })
    await this.tokens.revoke(ctx, id)
    return { deleted }
  }

  async #appId(ref: string): Promise<string> {
    const app = await this.apps.find(ref)
    if (!app) throw hiddenApp(ref)
    return app.id
  }
}
