import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface DocumentOptions {
  readonly out?: string
}

const outText = 'into this file'

export const registerTypes = (object: Command, shell: Shell): void => {
  const made = command(object, 'types <ref>', {
    calls: ['customObjects.types'],
    summary: 'TypeScript types of the events of an object',
    examples: [
      ['svc custom-object types build-server --out src/build-server.ts', 'for a program that publishes or receives'],
    ],
  }).option('--out <file>', outText)
  performs<DocumentOptions>(made, shell, async (call, ref = '') => {
    const answer = await (await call.client()).customObjects.types(ref)
    if (call.options.out !== undefined) write(call, call.options.out, answer.typescript)
    else if (call.json) call.out.json(answer)
    else call.out.write(answer.typescript)
  })
}

export const registerAsyncapi = (object: Command, shell: Shell): void => {
  const made = command(object, 'asyncapi <ref>', {
    calls: ['customObjects.asyncapi'],
    summary: 'The events of an object as an AsyncAPI document',
  }).option('--out <file>', outText)
  performs<DocumentOptions>(made, shell, async (call, ref = '') => {
    const document = await (await call.client()).customObjects.asyncapi(ref)
    if (call.options.out === undefined) call.out.json(document)
    else write(call, call.options.out, `${JSON.stringify(document, null, 2)}\n`)
  })
}

/** @throws UsageError when there is no such place */
const write = ({ out }: Invocation<DocumentOptions>, path: string, text: string): void => {
  try {
    writeFileSync(path, text)
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${(error as Error).message}`)
  }
  out.note(`written to ${path}`)
}
