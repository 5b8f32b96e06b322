import type { Operation } from '../../libs/common/src/contract/index.js'
import type { TestDaemon } from './daemon.js'
import type { Part, Scene } from './repeat-scenes.js'

export interface Said {
  readonly status: number
  readonly text: string
  readonly code?: string
  readonly replayed: boolean
  readonly requestId: string
}

let asked = 0

/** One POST under a key, with an id of its own by which its effects are found. */
export const sendKeyed = async (
  daemon: TestDaemon,
  entry: Operation,
  { key, token = daemon.token, signal }: { key: string; token?: string | undefined; signal?: AbortSignal },
  part: Part,
): Promise<Said> => {
  asked += 1
  const requestId = `${entry.name}-${asked}`
  const path = (entry.path as string).replace(/\{(\w+)\}/g, (_, name: string) => part.at?.[name] ?? '')
  const response = await fetch(new URL(path, daemon.baseUrl), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'idempotency-key': key,
      'x-request-id': requestId,
      ...(part.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(part.body !== undefined && { body: JSON.stringify(part.body) }),
    ...(signal && { signal }),
  })
  const text = await response.text()
  const code = response.status < 400 ? {} : { code: (JSON.parse(text) as { code: string }).code }
  const replayed = response.headers.get('idempotency-replayed') === 'true'
  return { status: response.status, text, ...code, replayed, requestId }
}

/** Whether a request has done something, by the events that bear its id. */
export const hasActed = async (daemon: TestDaemon, { requestId }: Pick<Said, 'requestId'>): Promise<boolean> => {
  const found = 'SELECT 1 FROM canvas.events WHERE correlation_id IN ($1, $2) LIMIT 1'
  return (await daemon.rows(found, [requestId, `viewer-${requestId}`])).length > 0
}

/** What of an answer a repetition must answer alike. */
export const essence = ({ text }: Said, { same = (answer) => answer }: Scene): unknown =>
  text === '' ? '' : same(JSON.parse(text))
