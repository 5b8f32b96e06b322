import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ObjectService } from './object.service.js'
import { RegisterService } from './register.service.js'
import { UnregisterService } from './unregister.service.js'

const op = contract

/** Objects, as the bus asks for them. */
@Injectable()
export class ObjectRpc {
  constructor(
    private readonly objects: ObjectService,
    private readonly registration: RegisterService,
    private readonly deletion: UnregisterService,
  ) {}

  @Handles(op['objects.object.register'])
  register(
    ctx: Context,
    input: InputOf<(typeof op)['objects.object.register']>,
  ): Promise<OutputOf<(typeof op)['objects.object.register']>> {
    return this.registration.register(ctx, input)
  }

  @Handles(op['objects.object.unregister'])
  unregister(
    ctx: Context,
    input: InputOf<(typeof op)['objects.object.unregister']>,
  ): Promise<OutputOf<(typeof op)['objects.object.unregister']>> {
    return this.deletion.unregister(ctx, input)
  }

  @Handles(op['objects.object.rotateSecret'])
  rotateSecret(
    ctx: Context,
    input: InputOf<(typeof op)['objects.object.rotateSecret']>,
  ): Promise<OutputOf<(typeof op)['objects.object.rotateSecret']>> {
    return this.objects.rotateSecret(ctx, input)
  }

  @Handles(op['customObjects.list'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.list']>,
  ): Promise<OutputOf<(typeof op)['customObjects.list']>> {
    return this.objects.list(ctx, input)
  }

  @Handles(op['customObjects.retrieve'])
  retrieve(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.retrieve']>,
  ): Promise<OutputOf<(typeof op)['customObjects.retrieve']>> {
    return this.objects.retrieve(ctx, input)
  }

  @Handles(op['customObjects.update'])
  update(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.update']>,
  ): Promise<OutputOf<(typeof op)['customObjects.update']>> {
    return this.objects.update(ctx, input)
  }

  @Handles(op['customObjects.types'])
  types(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.types']>,
  ): Promise<OutputOf<(typeof op)['customObjects.types']>> {
    return this.objects.types(ctx, input)
  }

  @Handles(op['customObjects.asyncapi'])
  asyncapi(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.asyncapi']>,
  ): Promise<OutputOf<(typeof op)['customObjects.asyncapi']>> {
    return this.objects.asyncapi(ctx, input)
  }
}
