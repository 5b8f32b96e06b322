/** Server-sent events as bytes: made once, written to everybody who watches. */

export interface FrameParts {
  readonly id?: string
  readonly event: string
  /** Anything that JSON can say; without line breaks once encoded. */
  readonly data: unknown
}

/** A name of one line: what a producer calls its items can't forge a field. */
const oneLine = (text: string): string => text.replace(/[\r\n\0]/g, ' ')

export const frameOf = ({ id, event, data }: FrameParts): Buffer =>
  Buffer.from(
    `${id === undefined ? '' : `id: ${oneLine(id)}\n`}event: ${oneLine(event)}\ndata: ${JSON.stringify(data)}\n\n`,
  )

/** Where a reader stands, for one who comes back: no event, so that nobody is called. */
export const positionFrame = (id: string): Buffer => Buffer.from(`id: ${oneLine(id)}\n\n`)

export const heartbeat = Buffer.from(':\n\n')

export const endFrame = (reason: string): Buffer =>
  frameOf({ event: 'end', data: { type: 'end', reason, data: { reason } } })

export const overflowFrame = (buffered: number): Buffer =>
  frameOf({
    event: 'overflow',
    data: { type: 'overflow', reason: 'slow_client', data: { reason: 'slow_client', buffered_bytes: buffered } },
  })

export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const
