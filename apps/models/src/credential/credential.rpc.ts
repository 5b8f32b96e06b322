import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { type Credential, CredentialService } from './credential.service.js'

const list = contract['models.credentials.list']
const install = contract['models.credentials.install']
const remove = contract['models.credentials.remove']

@Injectable()
export class CredentialRpc {
  constructor(@Inject(CredentialService) private readonly credentials: CredentialService) {}

  @Handles(list)
  async list(): Promise<OutputOf<typeof list>> {
    return { data: await this.credentials.list(), next_cursor: null, has_more: false }
  }

  @Handles(install)
  install(ctx: Context, { provider, ...material }: InputOf<typeof install>): Promise<Credential> {
    return this.credentials.install(ctx, provider, material)
  }

  @Handles(remove)
  async remove(ctx: Context, { provider }: InputOf<typeof remove>): Promise<undefined> {
    await this.credentials.remove(ctx, provider)
  }
}
