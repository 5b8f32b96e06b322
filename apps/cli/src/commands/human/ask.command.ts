import type { Command } from 'commander'
import type { HumanRequest, HumanRequestCreate } from '#sdk/index.js'
import { instantOf } from '../../clock.js'
import { UsageError } from '../../failure.js'
import { requestText } from '../../human/request.view.js'
import { jsonOf, textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface AskOptions {
  readonly option?: readonly string[]
  readonly multi?: boolean
  readonly freetext?: boolean
  readonly details?: string
  readonly pages?: string
  readonly node?: string
  readonly deadline?: string
  readonly default?: string
  readonly cost?: string
  readonly key?: string
  readonly wait?: boolean
}

const several = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** The longest that the daemon holds one answer, in s. */
const longestHold = 60
/** One look outlives a restart of the daemon (ms). */
const overRestarts = { timeout: longestHold * 1000 + 60_000, maxRetries: 10 }

export const registerAsk = (human: Command, shell: Shell): void => {
  const made = command(human, 'ask <title>', {
    calls: ['human.requests.create'],
    mayCall: ['human.requests.retrieve'],
    summary: 'Ask a person; nobody waits on it, and a node finds the answer in its mail',
    examples: [
      ['svc human ask "Which database?" --option pg=Postgres --option lite=SQLite', 'one of two'],
      ['svc human ask "What is it called?" --freetext', 'in words'],
      ['svc human ask "Deploy now?" --option yes --option no --deadline 2h --default no', 'silence decides'],
      ['svc human ask "Before we start" --pages @deck.json --wait', 'several pages, and wait for the answer'],
    ],
  })
    .option('--option <id[=label]>', 'something to choose; again for each', several)
    .option('--multi', 'several may be chosen')
    .option('--freetext', 'an answer in words is taken; so it is without any option')
    .option('--details <text>', 'what one needs to know, in Markdown')
    .option('--pages <json>', 'the pages as JSON: itself, @file, or - for standard input')
    .option('--node <id>', 'who is told the answer')
    .option('--deadline <time>', 'after it nobody can answer: a time, or 30m, 2h, 3d from now')
    .option('--default <option>', 'what stands after the deadline')
    .option('--cost <text>', 'what it costs to wait')
    .option('--key <key>', 'the same open question is not asked twice')
    .option('--wait', 'wait until it is resolved')
  performs<AskOptions>(made, shell, async ({ client, out, json, options }, title = '') => {
    const body = await bodyOf(await textOf(title, 'the question'), options)
    const svc = await client()
    let request = await svc.human.requests.create(body)
    if (options.wait)
      request = await resolved(request, (id) => svc.human.requests.retrieve(id, { wait: longestHold }, overRestarts))
    if (json) out.json(request)
    else if (request.status === 'pending') out.line(`${request.id}  asked`)
    else out.line(requestText(request, out))
  })
}

const resolved = async (asked: HumanRequest, look: (id: string) => Promise<HumanRequest>): Promise<HumanRequest> => {
  let request = asked
  while (request.status === 'pending') request = await look(request.id)
  return request
}

const bodyOf = async (title: string, options: AskOptions): Promise<HumanRequestCreate> => {
  const { node, deadline, cost, key } = options
  const pages = options.pages === undefined ? [pageOf(title, options)] : await jsonOf(options.pages, '--pages')
  if (options.default !== undefined && options.pages !== undefined) {
    throw new UsageError('--default goes with --option and --freetext', 'pages of your own say it by `preAnswered`')
  }
  return {
    title,
    pages: pages as HumanRequestCreate['pages'],
    ...(node !== undefined && { node_id: node }),
    ...(deadline !== undefined && { deadline: instantOf(deadline) }),
    ...(options.default !== undefined && { default: [defaultOf(options.default, options)] }),
    ...(cost !== undefined && { waiting_cost: cost }),
    ...(key !== undefined && { dedupe_key: key }),
  }
}

const pageOf = (title: string, { option = [], multi, freetext, details }: AskOptions) => ({
  id: 'q1',
  kind: 'decision' as const,
  title,
  ...(details !== undefined && { body: details }),
  options: option.map((given) => {
    const [id = '', ...label] = given.split('=')
    return { id, label: label.join('=') || id }
  }),
  multiSelect: multi === true,
  allowFreetext: freetext === true || option.length === 0,
})

const defaultOf = (given: string, { option = [], multi }: AskOptions) => {
  if (option.length === 0) return { id: 'q1', freetext: given }
  return multi ? { id: 'q1', selectedOptionIds: given.split(',') } : { id: 'q1', selectedOptionId: given }
}
