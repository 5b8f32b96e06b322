import type { Command } from 'commander'
import { secondsOf } from '../../cron/duration.js'
import { waitingLine } from '../../custom-object/object.view.js'
import { secretLines, tokenLines } from '../../custom-object/secret.text.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface RotateOptions {
  readonly signingSecret?: boolean
  readonly overlap?: string
}

export const registerRotate = (object: Command, shell: Shell): void => {
  const made = command(object, 'rotate <ref>', {
    calls: ['customObjects.rotate'],
    summary: 'Give an object a new publish token, or its deliveries a new signing secret',
    examples: [
      ['svc custom-object rotate build-server', 'the former token ends at once'],
      ['svc custom-object rotate chat --signing-secret --overlap 1d', 'both secrets sign until tomorrow'],
    ],
  })
    .option('--signing-secret', 'the secret that deliveries to its URL are signed with')
    .option('--overlap <time>', 'for so long the former one goes on: 30m, 1d; 7d at most')
  performs<RotateOptions>(made, shell, async ({ client, out, json, options }, ref = '') => {
    const rotated = await (await client()).customObjects.rotate(ref, {
      ...(options.signingSecret && { what: 'signing_secret' }),
      ...(options.overlap !== undefined && { overlap: secondsOf(options.overlap) }),
    })
    if (json) return out.json(rotated)
    const { publish_token, signing_secret } = rotated
    const lines = options.signingSecret
      ? secretLines(ref, signing_secret, options.overlap)
      : tokenLines(ref, publish_token)
    for (const line of lines) out.line(line)
  })
}

export const registerUnregister = (object: Command, shell: Shell): void => {
  const made = command(object, 'unregister <ref>', {
    calls: ['customObjects.unregister'],
    summary: 'Delete an object with its watches, its token and what was not delivered to it',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const answer = await (await client()).customObjects.unregister(ref)
    if (json) out.json(answer)
    else out.line(answer.deleted ? `${ref}  deleted` : `${ref}  was deleted before`)
  })
}

export const registerPause = (object: Command, shell: Shell): void => {
  const made = command(object, 'pause <ref>', {
    calls: ['customObjects.pause'],
    summary: 'Send nothing to its receiver for now; what comes meanwhile waits',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const paused = await (await client()).customObjects.pause(ref)
    if (json) out.json(paused)
    else out.line(waitingLine(paused))
  })
}

export const registerResume = (object: Command, shell: Shell): void => {
  const made = command(object, 'resume <ref>', {
    calls: ['customObjects.resume'],
    summary: 'Send to its receiver again, beginning with what waits',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const resumed = await (await client()).customObjects.resume(ref)
    if (json) out.json(resumed)
    else out.line(waitingLine(resumed))
  })
}
