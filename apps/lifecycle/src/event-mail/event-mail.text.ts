import type { HandedEvent } from '#common/contract/object.internal.js'

/** Bytes of a payload that its mail shows. */
const shownBytes = 16 * 1024

/** The beginning of a text of at most so many bytes, with no character cut in two. */
const beginning = (text: string, bytes: number): string =>
  new TextDecoder('utf-8').decode(Buffer.from(text).subarray(0, bytes), { stream: true })

const isOfNode = ({ source }: HandedEvent): boolean => source.id.startsWith('node_')

/** What shows the whole of it: that of a node is for those alone who reach the node, and a sibling doesn't. */
const wholeOf = (event: HandedEvent): string => {
  const { source, event_id } = event
  return isOfNode(event)
    ? `\`svc node events ${source.id} --json | grep ${event_id}\` shows the whole to that node and those above it`
    : `\`svc custom-object events ${source.id} --id ${event_id}\` shows the whole`
}

const payloadText = (event: HandedEvent): string => {
  const text = JSON.stringify(event.payload, null, 2)
  const bytes = Buffer.byteLength(text)
  if (bytes <= shownBytes) return text
  const shown = beginning(text, shownBytes)
  const left = bytes - Buffer.byteLength(shown)
  return `${shown}\n[… ${left} more bytes were left out; ${wholeOf(event)} …]`
}

const publisherOf = ({ published_by: { kind, id } }: HandedEvent): string => {
  if (kind === 'pub') return ' with its publish token'
  return id === null ? ` by ${kind === 'owner' ? 'the owner' : kind}` : ` by ${id}`
}

/** What a node reads of an event of what it watches. */
export const eventText = (event: HandedEvent): string => {
  const { source } = event
  // one line, whatever a node was named
  const name = source.name?.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
  const of = name === undefined ? source.id : `${name} (${source.id})`
  const head = isOfNode(event)
    ? `${event.event} of the node ${of}, at ${event.at}.`
    : `${event.event} of the object ${of}, published at ${event.at}${publisherOf(event)}.`
  return `${head}\n\n${payloadText(event)}`
}
