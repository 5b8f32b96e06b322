import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { shownLine, standardInput } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { SandboxStatus } from '../../local/sandbox.checks.js'
import type { Output } from '../../output/output.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerSandbox = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'sandbox', {
    calls: ['sandbox.get'],
    mayCall: ['sandbox.consent', 'sandbox.revoke'],
    summary: 'What holds the programs of nodes, and your consent to running them where nothing does',
    about:
      'By default nodes that run programs are refused on a machine without a sandbox. With your consent they run there as the account of the daemon: they can read your files and your keys, and what they run can do all that you can. `svc sys doctor` says what a sandbox needs.',
    examples: [
      ['svc sys sandbox', 'the level of each host'],
      ['svc sys sandbox --consent', 'asks you to type the sentence that says what you agree to'],
      ['svc sys sandbox --revoke', 'nodes that run programs are refused again'],
    ],
  })
    .option('--consent', 'consent, in words, to running programs of nodes without a sandbox')
    .option('--revoke', 'take the consent back')
  performs<{ consent?: boolean; revoke?: boolean }>(made, shell, async ({ client, out, json, options }) => {
    if (options.consent && options.revoke) throw new UsageError('--consent and --revoke exclude each other')
    const svc = await client()
    let status = await svc.request<SandboxStatus>('GET', '/v1/sandbox')
    if (options.revoke) status = await svc.request<SandboxStatus>('DELETE', '/v1/sandbox/consent')
    if (options.consent) {
      const words = await askedFor(status.sentence)
      status = await svc.request<SandboxStatus>('POST', '/v1/sandbox/consent', { words })
    }
    if (json) out.json(status)
    else print(status, out)
  })
}

const askedFor = async (sentence: string): Promise<string> => {
  const { stdin, stderr } = process
  if (!stdin.isTTY) return (await standardInput()).trim()
  stderr.write(`To consent, type this sentence:\n\n  ${sentence}\n\n`)
  return (await shownLine('> ')).trim()
}

const print = ({ hosts, consent }: SandboxStatus, out: Output): void => {
  if (hosts.length === 0) out.line('No host has said yet what holds them: ask again in a moment.')
  else
    out.line(
      table(
        ['HOST', 'LEVEL', 'DETAIL'],
        hosts.map(({ host_id, level, detail }) => [host_id, level, detail]),
      ),
    )
  const agreed = consentText(hosts, consent)
  if (agreed) out.line(`\n${agreed}`)
}

/** Undefined where nobody knows yet whether consent is needed. */
const consentText = (hosts: SandboxStatus['hosts'], consent: SandboxStatus['consent']): string | undefined => {
  if (consent) return `You consented on ${consent.at.slice(0, 10)}: "${consent.words}"`
  if (hosts.length === 0) return undefined
  return hosts.some(({ level }) => level === 'none')
    ? 'Nodes that run programs are refused where nothing holds them, unless you consent: svc sys sandbox --consent'
    : 'No consent is needed.'
}
