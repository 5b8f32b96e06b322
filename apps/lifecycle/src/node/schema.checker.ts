import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { SchemaThread, schemaPatience } from '#common/kernel/schema/schema.thread.js'
import { LOG } from '#common/kernel/service.js'

/** The result schemas of nodes: whether one can be used, and whether a value fits. */
@Injectable()
export class SchemaChecker implements OnApplicationShutdown {
  private readonly thread: SchemaThread

  constructor(@Inject(CLOCK) clock: Clock, @Inject(LOG) log: Logger) {
    this.thread = new SchemaThread(clock, log)
  }

  /** @throws SvcError validation_failed when the schema can't be used */
  async requireUsable(schema: Record<string, unknown>): Promise<void> {
    const answer = await this.thread.ask(schema)
    const why = answer ? answer.unusable : 'takes too long to compile'
    if (why === undefined) return
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/result_schema', message: `is not a usable JSON Schema (draft 2020-12): ${why}` }],
    })
  }

  /** @throws SvcError result_schema_mismatch with each difference and its place */
  async requireFit(schema: Record<string, unknown>, value: unknown): Promise<void> {
    const errors = await this.differences(schema, value)
    if (errors.length > 0) throw new SvcError('result_schema_mismatch', undefined, { errors })
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.close()
  }

  private async differences(schema: Record<string, unknown>, given: unknown): Promise<FieldFault[]> {
    const answer = await this.thread.ask(schema, { given })
    const whole = (message: string): FieldFault[] => [{ pointer: '/value', message }]
    if (!answer) return whole(`takes too long to check against the schema (more than ${schemaPatience} ms)`)
    if (answer.unusable !== undefined) return whole(`can't be checked: ${answer.unusable}`)
    return answer.faults.map(({ pointer, message }) => ({ pointer: `/value${pointer}`, message }))
  }
}
