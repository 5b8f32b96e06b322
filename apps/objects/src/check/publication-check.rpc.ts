import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { PublicationCheck } from './publication-check.service.js'

const check = contract['objects.publication.check']

/** What the scheduler asks before it arms a schedule. */
@Injectable()
export class PublicationCheckRpc {
  constructor(private readonly checks: PublicationCheck) {}

  @Handles(check)
  check(ctx: Context, input: InputOf<typeof check>): Promise<OutputOf<typeof check>> {
    return this.checks.check(ctx, input)
  }
}
