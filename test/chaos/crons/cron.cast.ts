import { systemClock } from '#common/kernel/clock.js'
import type { Client, SvcError } from '#sdk/index.js'
import { reached } from '../moment.js'
import type { CronPlan } from './cron.plan.js'

/** A schedule that a client asked for, with all that the client was told of it. */
export interface ArmedCron {
  readonly plan: CronPlan
  /** Null where it was refused. */
  readonly id: string | null
  /** ms since the epoch when it was known to be armed. */
  readonly since: number
  /** Slots of firings by hand that were accepted. */
  readonly byHand: string[]
  /** Whether a client was told that it is deleted. */
  deleted: boolean
}

/** Refusals of what comes too late, since its request met a fault: nothing may be left of it. */
const tooLate = ['schedule_past']
/** Refusals of what the schedule itself forestalled. */
const forestalled = ['illegal_transition', 'not_found', 'already_running']

/** A client that says everything twice, as one does that didn't hear the first answer. */
export class CronHand {
  #keys = 0

  constructor(
    private readonly client: Client,
    private readonly name: string,
  ) {}

  /** @throws Error for a refusal that nothing explains */
  async arm(plan: CronPlan): Promise<ArmedCron> {
    const made = await this.#asked<{ id: string }>('POST', '/v1/crons', tooLate, plan.body)
    return { plan, id: made?.id ?? null, since: systemClock.now(), byHand: [], deleted: false }
  }

  /** Carries out the fate of a schedule around its slot. @param began when its round did, ms since the epoch */
  async follow(cron: ArmedCron, began: number): Promise<void> {
    const { fate, due, moment } = cron.plan
    if (fate === 'left' || cron.id === null) return
    await reached(began + due + moment)
    if (fate === 'deleted') await this.delete(cron)
    if (fate === 'run') await this.run(cron)
    if (fate === 'paused') {
      await this.pause(cron)
      await reached(began + due + 600)
      await this.resume(cron)
    }
  }

  async pause({ id }: ArmedCron): Promise<void> {
    await this.#asked('POST', `/v1/crons/${id}/pause`, forestalled)
  }

  async resume({ id }: ArmedCron): Promise<void> {
    await this.#asked('POST', `/v1/crons/${id}/resume`, forestalled)
  }

  async run({ id, byHand }: ArmedCron): Promise<void> {
    const fire = await this.#asked<{ slot: string }>('POST', `/v1/crons/${id}/run`, forestalled)
    if (fire) byHand.push(fire.slot)
  }

  async delete(cron: ArmedCron): Promise<void> {
    await this.#asked('DELETE', `/v1/crons/${cron.id}`, forestalled)
    cron.deleted = true
  }

  async #asked<T>(
    method: 'POST' | 'DELETE',
    path: string,
    mayRefuse: readonly string[],
    body?: unknown,
  ): Promise<T | undefined> {
    this.#keys += 1
    const headers = { 'idempotency-key': `${this.name}.${this.#keys}` }
    const ask = async (): Promise<T | undefined> => {
      try {
        return await this.client.request<T>(method, path, body, { headers })
      } catch (error) {
        if (mayRefuse.includes((error as SvcError).code)) return undefined
        throw new Error(`${method} ${path}: ${error}`, { cause: error })
      }
    }
    const [first, second] = await Promise.all([ask(), ask()])
    if (method === 'POST' && first && second && JSON.stringify(first) !== JSON.stringify(second))
      throw new Error(`${path}: one key, two answers: ${JSON.stringify([first, second])}`)
    return first ?? second
  }
}
