import type { Command } from 'commander'
import type { CustomObjectsDeliveriesListQuery } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { deliveryTable } from '../../custom-object/delivery.view.js'
import { UsageError } from '../../failure.js'
import { oneOf, wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { type PagedOptions, printPaged } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

const states = ['pending', 'acked', 'failed', 'dead'] as const

interface DeliveriesOptions extends PagedOptions {
  readonly state?: string
}

export const registerDeliveries = (object: Command, shell: Shell): void => {
  const made = command(object, 'deliveries <ref>', {
    calls: ['customObjects.deliveries.list'],
    summary: 'What was and is to be delivered to an object, newest first',
    about:
      'pending: to be delivered; acked: taken; failed: tried, and to be tried again; dead: given up, until it is replayed or acknowledged.',
    examples: [['svc custom-object deliveries chat --state dead', 'those that were given up, and why']],
  })
    .option('--state <state>', states.join(', '))
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<DeliveriesOptions>(made, shell, async (call, ref = '') => {
    const state = oneOf(states, call.options.state, '--state')
    const query: CustomObjectsDeliveriesListQuery = {
      ...given(call.options, 'after', 'limit'),
      ...(state && { state }),
    }
    await printPaged(call, (await call.client()).customObjects.deliveries.list(ref, query), deliveryTable)
  })
}

export const registerReplay = (object: Command, shell: Shell): void => {
  const made = command(object, 'replay <ref> [deliveries...]', {
    calls: ['customObjects.deliveries.replay'],
    summary: 'Try deliveries again that were given up, from the first try on',
    examples: [
      ['svc custom-object replay chat --all', 'all of them'],
      ['svc custom-object replay chat <delivery>', 'one, or several between blanks'],
    ],
  }).option('--all', 'every one that was given up')
  performs<{ all?: boolean }>(made, shell, async ({ client, out, json, options }, ref = '', named) => {
    const ids = [...new Set([named ?? []].flat())]
    if (Boolean(options.all) === ids.length > 0) {
      throw new UsageError(
        options.all ? '--all goes without single deliveries' : 'which deliveries is missing',
        `name them, or say --all; svc custom-object deliveries ${ref} --state dead lists them`,
      )
    }
    const answer = await (await client()).customObjects.deliveries.replay(ref, options.all ? {} : { ids })
    if (json) return out.json(answer)
    out.line(`${answer.replayed} tried again`)
    const strays = ids.length - answer.replayed
    if (strays > 0) {
      const which = ids.length === 1 ? ids[0] : `${strays} of the ${ids.length}`
      out.note(`${which} had not been given up: svc custom-object deliveries ${ref} --state dead lists those that are`)
    }
  })
}
