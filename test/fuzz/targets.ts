import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gatesOf, type Operation } from '#common/contract/define.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Random } from '../chaos/random.js'
import type { TestDaemon } from '../support/daemon.js'
import type { Hints } from './sample.js'

export interface Aim {
  readonly hints: Hints
  readonly token: string
  readonly ofOwner: boolean
}

const nobody = 'node_01jd0000000000000000000000'

/** What the requests speak to: a node that has ended, one that works and gives away its token, and nobody. */
export class Targets {
  #ended = ''
  #living = ''
  #livingToken = ''
  #made = 0

  private constructor(private readonly daemon: TestDaemon) {}

  static async on(daemon: TestDaemon): Promise<Targets> {
    // No provider is ever reached: this one refuses connections.
    await daemon.client().models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
      ladders: { medium: ['mock/m-1'] },
    })
    return new Targets(daemon)
  }

  async renew(): Promise<void> {
    const { nodes } = this.daemon.client()
    const cwd = this.daemon.workDir
    this.#made += 1
    const file = join(cwd, `token-${this.#made}`)
    const common = { prompt: 'go', engine: 'exec', cwd, lifecycle: 'terminal' } as const
    if (this.#living) await nodes.cancel(this.#living).catch(() => undefined)
    const living = await nodes.create({
      ...common,
      exec: { argv: ['sh', '-c', 'printf %s "$SVC_TOKEN" > "$0.new"; mv "$0.new" "$0"; exec sleep 600', file] },
    })
    this.#ended = (await nodes.createAndWait({ ...common, exec: { argv: ['true'] } })).node_id
    this.#livingToken = await waitFor(() => readFileSync(file, 'utf8'))
    this.#living = living.id
  }

  /** Mostly the one who may call this operation at all. */
  for(entry: Operation, random: Random): Aim {
    const ofNode = gatesOf(entry).some((gate) => gate === 'broker' || gate === 'self')
    const ofOwner = ofNode ? random.next() < 0.1 : random.next() < 0.85
    const id = ofOwner ? random.pick([this.#ended, this.#ended, nobody]) : this.#living
    return {
      ofOwner,
      token: ofOwner ? this.daemon.token : this.#livingToken,
      hints: {
        id,
        under: id,
        parent_id: id,
        provider: 'mock',
        prompt: 'go',
        engine: 'exec',
        exec: { argv: ['true'] },
        cwd: this.daemon.workDir,
        kind: 'general',
        root: false,
        scopes: ['svc:llm', 'svc:act'],
        result_schema: { type: 'object' },
        schema: { type: 'object' },
        input_schema: { type: 'object' },
        limit: 10,
        wait: 0,
        after: '1',
        providers: { mock: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
        ladders: { medium: ['mock/m-1'] },
        prices: {},
        value: {},
      },
    }
  }

  /** What the daemon says of itself when all is over. */
  async complaints(): Promise<string[]> {
    const status = await this.daemon.client().system.status()
    const log = readFileSync(join(this.daemon.data.log, 'daemon.log'), 'utf8')
    const failures = log.split('\n').filter((line) => line.includes('a request failed'))
    return [
      ...status.parts.filter(({ state }) => state === 'absent').map(({ name }) => `${name} is not there`),
      ...failures.slice(0, 20).map((line) => `in the log: ${line.slice(0, 600)}`),
    ]
  }
}
