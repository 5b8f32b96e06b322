import type { Command } from 'commander'
import { Acknowledger } from '../../custom-object/acknowledger.js'
import { deliveryLine } from '../../custom-object/delivery.view.js'
import { countNumber, wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface ReceiveFlags {
  readonly after?: number
  readonly ack?: boolean
  readonly count?: number
}

export const registerReceive = (object: Command, shell: Shell): void => {
  const made = command(object, 'receive <ref>', {
    calls: ['customObjects.receive'],
    mayCall: ['customObjects.retrieve', 'customObjects.ack'],
    summary: 'Follow the deliveries of a queue: all that are not acknowledged, then live',
    about: 'It waits out a daemon that restarts; what is not acknowledged by then comes again. Ctrl-C ends it.',
    examples: [
      ['svc custom-object receive alarm', 'look at what waits, and leave it there'],
      [
        'svc custom-object receive alarm --ack --json | ./consumer',
        'one delivery a line, acknowledged once it is written',
      ],
      ['svc custom-object receive alarm --ack -n 1', 'take one'],
    ],
  })
    .option('--ack', 'acknowledge each as soon as it is written')
    .option('--after <seq>', 'also what is acknowledged already, behind this number, as far as it is kept', wholeNumber)
    .option('-n, --count <number>', 'end after so many', countNumber)
  performs<ReceiveFlags>(made, shell, async ({ client, out, json, options }, ref = '') => {
    const { customObjects } = await client()
    // whether it is there at all is known before it is waited for
    await customObjects.retrieve(ref)
    const leave = new AbortController()
    let interrupted = false
    const onInterrupt = () => {
      interrupted = true
      leave.abort()
    }
    process.once('SIGINT', onInterrupt)
    const patient = { maxRetries: Number.POSITIVE_INFINITY }
    const acknowledger = new Acknowledger(
      (ids) => customObjects.ack(ref, ids, { ...patient, timeout: Number.POSITIVE_INFINITY }),
      (error) => leave.abort(error),
    )
    const { ack, after, count = Number.POSITIVE_INFINITY } = options
    const asked = { ...patient, signal: leave.signal, ...(after !== undefined && { after }) }
    let shown = 0
    try {
      for await (const delivery of customObjects.receive(ref, asked)) {
        if (json) out.record(delivery)
        else out.line(deliveryLine(delivery))
        if (ack) {
          await out.flushed()
          await acknowledger.add(delivery.id)
        }
        shown += 1
        if (shown >= count) break
      }
    } catch (error) {
      if (!interrupted) throw error
      process.exitCode = 130
    } finally {
      process.off('SIGINT', onInterrupt)
      await acknowledger.done()
    }
  })
}

export const registerAck = (object: Command, shell: Shell): void => {
  const made = command(object, 'ack <ref> <deliveries...>', {
    calls: ['customObjects.ack'],
    summary: 'Acknowledge deliveries, which are not delivered again',
    examples: [['svc custom-object ack alarm <delivery>', 'one, or several between blanks']],
  })
  performs(made, shell, async ({ client, out, json }, ref = '', named) => {
    const ids = [named ?? []].flat()
    const answer = await (await client()).customObjects.ack(ref, ids)
    if (json) return out.json(answer)
    out.line(`${answer.acknowledged} acknowledged`)
    const again = ids.length - answer.acknowledged - answer.unknown.length
    if (again) out.note(`${again} had been before`)
    if (answer.unknown.length) out.note(`no deliveries of ${ref}: ${answer.unknown.join(', ')}`)
  })
}
