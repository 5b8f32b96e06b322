import { readFileSync } from 'node:fs'
import { deck, type RepeatStage } from './repeat-stage.js'

export interface Part {
  /** Values of the path's parameters. */
  readonly at?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A request that takes effect, and another that the same key is not for. */
export interface Scene extends Part {
  readonly other: Part
  /** The owner's unless given. */
  readonly token?: string
  /** What of its answer stays as it is, where that is not all. */
  readonly same?: (answer: Record<string, unknown>) => unknown
  /** How often it took effect, where that stands in no event of a node. */
  readonly effects?: () => Promise<number> | number
}

type Setting = (stage: RepeatStage, name: string) => Promise<Scene>

/** A request on a node that works, with another body that differs in one field. */
const onProgram =
  (body: object, other: object, asNode = false): Setting =>
  async (stage) => {
    const id = await stage.program()
    const token = asNode ? { token: await stage.tokenOf(id) } : {}
    return { at: { id }, body, other: { at: { id }, body: other }, ...token }
  }

const onAgent =
  (body: object | undefined, other: object | undefined, bring: 'agent' | 'ended' | 'inWorktree' = 'agent'): Setting =>
  async (stage) => {
    const id = await stage[bring]()
    // what takes no body is another request when it names another node
    return { at: { id }, body, other: { at: { id: other ? id : await stage.agent() }, body: other ?? body } }
  }

const ofQuestion =
  (body: object, other: object): Setting =>
  async (stage) => {
    const id = await stage.question()
    return { at: { id }, body, other: { at: { id }, body: other } }
  }

const nameOf = (operation: string): string => operation.toLowerCase().replaceAll(/[^a-z]+/g, '-')

/** A token, or what signs, is told once. */
const withoutSecret = ({
  token: _token,
  publish_token: _publish,
  signing_secret: _signing,
  ...rest
}: Record<string, unknown>): unknown => rest

/** The node as it was when the removal began, with the worktree as it is. */
const endOfWorktree: Setting = async (stage) => {
  const at = { id: await stage.inWorktree() }
  const gone = "SELECT 1 FROM canvas.nodes WHERE id = $1 AND worktree->>'state' IN ('closed', 'abandoned')"
  return {
    at,
    other: { at: { id: await stage.inWorktree() } },
    same: ({ id, worktree }) => ({ id, worktree }),
    effects: async () => (await stage.daemon.rows(gone, [at.id])).length,
  }
}

/** On a schedule in a state of its own; `done` counts where it took effect. */
const onCron =
  (done: string, paused = false): Setting =>
  async (stage) => {
    const at = { id: await stage.cron(paused) }
    const effects = async () => (await stage.daemon.rows(done, [at.id])).length
    return { at, other: { at: { id: await stage.cron(paused) } }, effects }
  }

/** An event of an object of its own; `times` of them in one request. */
const publishing =
  (bodyOf: (payload: number) => object, times = 1): Setting =>
  async (stage, name) => {
    const ref = await stage.object(nameOf(name))
    const events = 'SELECT 1 FROM objects.events WHERE source_id = $1'
    const effects = async () => (await stage.daemon.rows(events, [ref])).length / times
    return { at: { ref }, body: bodyOf(1), other: { at: { ref }, body: bodyOf(2) }, effects }
  }

/** How each operation with an idempotency key is asked for. */
export const scenes: Readonly<Record<string, Setting>> = {
  'nodes.create': async ({ daemon }) => {
    const body = { prompt: 'go', engine: 'exec', exec: { argv: ['true'] }, cwd: daemon.workDir }
    return { body, other: { body: { ...body, name: 'another' } } }
  },
  'nodes.message': onAgent({ body: 'hello' }, { body: 'hullo' }),
  'nodes.interrupt': async (stage) => ({
    at: { id: await stage.program() },
    other: { at: { id: await stage.program() } },
  }),
  'nodes.cancel': onAgent(undefined, undefined),
  'nodes.result.submit': onProgram({ value: 1 }, { value: 2 }),
  'nodes.reports.push': onProgram({ kind: 'update', body: 'half' }, { kind: 'update', body: 'all' }, true),
  'nodes.promote': onAgent({}, { roadmap: 'first this' }),
  'nodes.demote': async (stage) => {
    const id = await stage.agent({ mode: 'orchestrator' })
    return { at: { id }, other: { at: { id: await stage.agent() } } }
  },
  'nodes.reviveAll': async (stage) => {
    const under = await stage.dead()
    return { body: { under, confirm: true }, other: { body: { under, confirm: true, limit: 7 } } }
  },
  'nodes.wait': onProgram({ reason: 'the tide' }, { reason: 'the wind' }, true),
  'nodes.retry': async (stage) => {
    const at = { id: await stage.held() }
    return { at, other: { at: { id: await stage.held() } } }
  },
  'nodes.faults.record': onProgram(
    { turn: 1, kind: 'rate_limit', message: 'later' },
    { turn: 1, kind: 'rate_limit', message: 'never' },
    true,
  ),
  'nodes.yield': onAgent({ note: 'mind the gap' }, { note: 'mind the step' }),
  'nodes.revive': onAgent({ prompt: 'again' }, { prompt: 'and again' }, 'ended'),
  'nodes.fork': onAgent({}, { prompt: 'elsewhere' }),
  'nodes.recycle': onAgent({}, { prompt: 'anew' }),
  'nodes.relaunchRoot': onAgent({}, { prompt: 'anew' }),
  'human.requests.create': async (stage) => {
    const body = { ...deck, node_id: await stage.agent() }
    return { body, other: { body: { ...body, title: 'Another way' } } }
  },
  'human.requests.respond': ofQuestion(
    { response: [{ id: 'way', selectedOptionId: 'a' }] },
    { response: [{ id: 'way', selectedOptionId: 'a', freetext: 'well' }] },
  ),
  'human.requests.dismiss': ofQuestion({ reason: 'not mine' }, { reason: 'not yours' }),
  'human.requests.cancel': ofQuestion({ reason: 'found out' }, { reason: 'lost' }),
  'nodes.broker.viewer': async (stage) => {
    const id = await stage.program()
    const { ticket } = await stage.daemon.client().request<{ ticket: string }>('POST', `/v1/nodes/${id}/attach`)
    const body = (text: string) => ({ ticket, act: { type: 'message', body: text } })
    return {
      at: { id },
      body: body('hello'),
      other: { at: { id }, body: body('hullo') },
      token: await stage.tokenOf(id),
    }
  },
  'nodes.jobs.start': onProgram({ command: 'sleep 600' }, { command: 'sleep 601' }),
  'nodes.jobs.cancel': async (stage) => {
    const id = await stage.program()
    const path = `/v1/nodes/${id}/jobs`
    const start = () => stage.daemon.client().request<{ id: string }>('POST', path, { command: 'sleep 600' })
    const [job, other] = [await start(), await start()]
    const asked = 'SELECT 1 FROM canvas.jobs WHERE id = $1 AND cancel_requested_at IS NOT NULL'
    const effects = async () => (await stage.daemon.rows(asked, [job.id])).length
    return { at: { id, job_id: job.id }, other: { at: { id, job_id: other.id } }, effects }
  },
  'nodes.worktree.close': endOfWorktree,
  'nodes.worktree.abandon': endOfWorktree,
  'crons.create': async ({ daemon }, name) => {
    const action = { type: 'bash', cwd: daemon.workDir, command: 'true' }
    const body = { name: nameOf(name), schedule: { every: 3600 }, action }
    const effects = async () => (await daemon.rows('SELECT 1 FROM scheduler.crons WHERE name = $1', [body.name])).length
    return { body, other: { body: { ...body, jitter_s: 9 } }, effects }
  },
  'crons.pause': onCron("SELECT 1 FROM scheduler.crons WHERE id = $1 AND status = 'paused' AND version = 2"),
  'crons.resume': onCron("SELECT 1 FROM scheduler.crons WHERE id = $1 AND status = 'active' AND version = 3", true),
  'crons.run': onCron('SELECT 1 FROM scheduler.fires WHERE cron_id = $1'),
  'bash.run': async (stage) => {
    const file = stage.path('ran')
    const body = { cwd: stage.daemon.workDir, command: `printf x >> ${file}; echo $RANDOM` }
    const effects = () => readFileSync(file, 'utf8').length
    return { body, other: { body: { ...body, stdin: 'x' } }, effects }
  },
  'apps.create': async ({ daemon }, name) => {
    const body = { name: nameOf(name), scopes: ['svc:llm'] }
    const effects = async () => (await daemon.rows('SELECT 1 FROM gateway.apps WHERE name = $1', [body.name])).length
    return { body, other: { body: { ...body, description: 'another' } }, effects }
  },
  'tokens.create': async (stage, name) => {
    const app = await stage.app(nameOf(name))
    const effects = async () => (await stage.tokensOf(app)).length
    return { body: { app }, other: { body: { app, scopes: [] } }, same: withoutSecret, effects }
  },
  'tokens.rotate': async (stage, name) => {
    const app = await stage.app(nameOf(name))
    const { id } = await stage.daemon.client().request<{ id: string }>('POST', '/v1/tokens', { app })
    const effects = async () => (await stage.tokensOf(app)).length - 1
    return { at: { id }, body: {}, other: { at: { id }, body: { overlap: 9 } }, same: withoutSecret, effects }
  },
  'customObjects.register': async ({ daemon }, name) => {
    const body = { name: nameOf(name), catalog: [{ event: 'built' }] }
    const tokens = `SELECT 1 FROM gateway.tokens t JOIN objects.objects o ON o.id = t.object_ref WHERE o.name = $1`
    const effects = async () => (await daemon.rows(tokens, [body.name])).length
    return { body, other: { body: { ...body, description: 'another' } }, same: withoutSecret, effects }
  },
  'customObjects.rotate': async (stage, name) => {
    const ref = await stage.object(nameOf(name))
    const tokens = 'SELECT 1 FROM gateway.tokens WHERE object_ref = $1'
    const effects = async () => (await stage.daemon.rows(tokens, [ref])).length - 1
    return { at: { ref }, body: {}, other: { at: { ref }, body: { overlap: 9 } }, same: withoutSecret, effects }
  },
  'customObjects.publish': publishing((payload) => ({ event: 'built', payload })),
  'customObjects.publishBatch': publishing(
    (payload) => ({
      events: [
        { event: 'built', payload },
        { event: 'built', payload: null },
      ],
    }),
    2,
  ),
  'llm.call': async ({ mock }, name) => {
    const body = (text: string) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] })
    const effects = () => mock.requests().filter(({ body: sent }) => JSON.stringify(sent).includes(name)).length
    return { body: body(name), other: { body: body('something else') }, effects }
  },
}
