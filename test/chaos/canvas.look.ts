import type { AdminConnection } from '#common/testing/admin-connection.js'
import { canvasRules, type Rule, restRules } from './canvas.rules.js'
import type { Message } from './stage.js'
import type { Seen, StreamWatch } from './stream-watch.js'

/** Rows that one broken rule is told with. */
const toldAtMost = 5

/** Each rule that does not hold, with some of its rows. */
export const broken = async (database: AdminConnection, rules: readonly Rule[]): Promise<string[]> => {
  const found: string[] = []
  for (const { says, sql } of rules) {
    const rows = await database.rows<{ text: string }>(sql)
    const more = rows.length > toldAtMost ? ` and ${rows.length - toldAtMost} more` : ''
    if (rows.length)
      found.push(
        `${says}, but: ${rows
          .slice(0, toldAtMost)
          .map(({ text }) => text)
          .join('; ')}${more}`,
      )
  }
  return found
}

/** What keeps the canvas from being at rest. */
export const unrest = (database: AdminConnection): Promise<string[]> => broken(database, restRules)

/** What doesn't hold for the whole canvas, at rest. */
export const canvasViolations = (database: AdminConnection): Promise<string[]> => broken(database, canvasRules)

/** Messages that a client was told are accepted, and that are not there, or not once. */
export const lostMessages = async (database: AdminConnection, messages: readonly Message[]): Promise<string[]> => {
  const rows = await database.rows<{ id: string; body: string }>(
    'SELECT id, body FROM canvas.mail WHERE id = ANY ($1) OR body = ANY ($2)',
    [messages.map(({ id }) => id), messages.map(({ body }) => body)],
  )
  return messages.flatMap(({ id, body }) => {
    const times = rows.filter((row) => row.body === body).length
    const there = rows.some((row) => row.id === id && row.body === body)
    return there && times === 1 ? [] : [`the message ${id} (${body}) is there ${times} times`]
  })
}

const eventOf = ({ node, seq }: { node: string; seq: number }): string => `${node}:${seq}`

/** What a reader of all events saw otherwise than it stands in the order of all events. */
export const canvasStream = (database: AdminConnection, watch: StreamWatch): Promise<string[]> =>
  compared('the stream of all events', watch, eventOf, () =>
    database.rows('SELECT node_id AS node, seq::int FROM canvas.events ORDER BY xid, root_id, tree_seq'),
  )

/** The same of a reader of one tree, whose events are numbered. */
export const treeStream = (
  database: AdminConnection,
  { root, watch }: { root: string; watch: StreamWatch },
): Promise<string[]> =>
  compared(
    `the tree of ${root}`,
    watch,
    ({ id, ...event }) => `${id}=${eventOf(event)}`,
    () =>
      database.rows(
        'SELECT tree_seq::text AS id, node_id AS node, seq::int FROM canvas.events WHERE root_id = $1 ORDER BY tree_seq',
        [root],
      ),
  )

/** Waits until the reader has as much as there is. */
const compared = async (
  what: string,
  watch: StreamWatch,
  textOf: (event: Seen) => string,
  read: () => Promise<Seen[]>,
): Promise<string[]> => {
  for (;;) {
    const rows = await read()
    const late = await watch.until(rows.length, 30_000).then(
      () => [],
      (error: unknown) => [String(error)],
    )
    if (watch.seen.length > rows.length && (await read()).length > rows.length) continue
    return [...late, ...differences(what, rows.map(textOf), watch.seen.map(textOf))]
  }
}

const differences = (what: string, wanted: readonly string[], seen: readonly string[]): string[] => {
  const at = wanted.findIndex((event, place) => event !== seen[place])
  if (at < 0 && wanted.length === seen.length) return []
  const known = new Set(seen)
  const missing = wanted.filter((event) => !known.has(event)).length
  const twice = seen.length - known.size
  return [
    `${what}: ${seen.length} of ${wanted.length} seen, ${missing} missing, ${twice} twice; first at ${at}: ${wanted[at]} came as ${seen[at]}`,
  ]
}
