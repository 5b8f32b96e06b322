// A consumer of a queue as somebody writes one who may be killed at any moment: it notes what it received before it
// acknowledges it, and what it was told is acknowledged. Usage: consumer.process.mjs <queue> <log>; address and token are
// taken from SVC_BASE_URL and SVC_TOKEN.
import { openSync, writeSync } from 'node:fs'
import { Client, isWorthRetrying } from '#sdk/index.js'

/** Ids of one acknowledgement. */
const atOnce = 500

const [queue, path] = process.argv.slice(2)
const client = new Client()
const log = openSync(path, 'a')
/** One write a line: what is written survives the process. */
const note = (...words) => writeSync(log, `${words.join(' ')}\n`)

const received = []
let acknowledging = false
const acknowledge = async () => {
  if (acknowledging) return
  acknowledging = true
  while (received.length) {
    const batch = received.splice(0, atOnce)
    await client.customObjects.ack(queue, { ids: batch.map(({ id }) => id) })
    note('acked', ...batch.map(({ seq }) => seq))
  }
  acknowledging = false
}

for (;;) {
  note('began')
  try {
    // each connection by itself, since each begins with all that is not acknowledged
    for await (const { id, seq, payload } of client.customObjects.receive(queue, { maxRetries: 0 })) {
      note('received', seq, payload.by, payload.n)
      received.push({ id, seq })
      void acknowledge()
    }
  } catch (error) {
    if (!isWorthRetrying(error)) throw error
  }
}
