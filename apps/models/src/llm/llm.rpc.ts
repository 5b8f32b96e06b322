import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type LlmAnswer, type LlmItem } from '#common/contract/index.js'
import { Handles, Streams } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { LlmService } from './llm.service.js'

const call = contract['llm.call']

@Injectable()
export class LlmRpc {
  constructor(@Inject(LlmService) private readonly llm: LlmService) {}

  @Handles(call)
  call(ctx: Context, input: InputOf<typeof call>): Promise<LlmAnswer> {
    return this.llm.call(ctx, input)
  }

  @Streams(call)
  stream(ctx: Context, input: InputOf<typeof call>): AsyncIterable<LlmItem> {
    return this.llm.stream(ctx, input)
  }
}
