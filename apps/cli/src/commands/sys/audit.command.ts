import type { Command } from 'commander'
import type { AuditEntry, AuditPage, Client } from '#sdk/index.js'
import { type Verdict, verify } from '../../audit/audit.chain.js'
import { CommandError, UsageError } from '../../failure.js'
import { command, type Invocation, performs } from '../../invocation.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface AuditOptions {
  readonly denied?: boolean
  readonly operation?: string
  readonly principal?: string
  readonly limit: string
  readonly verify?: boolean
}

const pageSize = 200

/** The newest lines that are asked for, the newest first. */
const newest = async (
  client: Client,
  query: Readonly<Record<string, string>>,
  limit: number,
): Promise<AuditEntry[]> => {
  const lines: AuditEntry[] = []
  let after: string | null = null
  do {
    const wanted = String(Math.min(pageSize, limit - lines.length))
    const fields: Record<string, string> = { ...query, limit: wanted, ...(after !== null && { after }) }
    const page: AuditPage = await client.request('GET', `/v1/audit?${new URLSearchParams(fields)}`)
    lines.push(...page.data)
    after = page.next_cursor
  } while (after !== null && lines.length < limit)
  return lines
}

const rowOf = (line: AuditEntry): string[] => [
  String(line.seq),
  line.at,
  line.actor.principal,
  line.decision === 'allowed' ? 'allowed' : `denied: ${line.code}`,
  line.repeated > 1 ? `×${line.repeated}` : '',
  line.remote ?? (line.actor.kind === 'system' ? '-' : 'socket'),
  line.operation ?? '-',
  line.resource ?? '-',
]

const checked = async ({ client, out, json }: Invocation<AuditOptions>): Promise<void> => {
  const svc = await client()
  const verdict: Verdict = await verify((sinceSeq) =>
    svc.request('GET', `/v1/audit?order=oldest&limit=${pageSize}&since_seq=${sinceSeq}`),
  )
  if (json) out.json(verdict)
  if (verdict.broken_at !== null) {
    throw new CommandError(
      `the audit log is broken at line ${verdict.broken_at}: it was changed or taken out after it was written`,
      `the ${verdict.verified} lines before it hold; compare the database with a backup of before`,
    )
  }
  const pruned = verdict.anchor.seq > 0 ? `; those up to ${verdict.anchor.seq} were pruned` : ''
  if (!json) out.line(`${verdict.verified} lines hold, up to line ${verdict.head.seq}${pruned}`)
}

export const registerAudit = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'audit', {
    calls: ['audit.list'],
    summary: "What was done with the owner's rights, and what was denied, the newest first",
    about:
      'A line stands for a request, or for several alike ones: who, what and whether, never what they held. Each line’s hash covers the one before, which --verify computes anew.',
    examples: [
      ['svc sys audit --denied --limit 20', 'the last refusals'],
      ['svc sys audit --operation models.credentials.install', 'who installed credentials'],
      ['svc sys audit --verify', 'whether any line was changed or taken out; exit code 1 if so'],
    ],
  })
    .option('--denied', 'refusals alone')
    .option('--operation <name>', 'of one operation, such as tokens.revoke')
    .option('--principal <who>', 'of one principal: owner, app:<id>, node:<id>, nobody')
    .option('--limit <count>', 'how many lines', '50')
    .option('--verify', 'check the whole log instead')
  performs<AuditOptions>(made, shell, async (call) => {
    const { client, out, json, options } = call
    if (options.verify) return checked(call)
    const limit = Number(options.limit)
    if (!Number.isInteger(limit) || limit < 1) throw new UsageError(`--limit ${options.limit} is no number of lines`)
    const query = {
      ...(options.denied && { decision: 'denied' }),
      ...(options.operation !== undefined && { operation: options.operation }),
      ...(options.principal !== undefined && { principal: options.principal }),
    }
    const lines = await newest(await client(), query, limit)
    if (json) for (const line of lines) out.record(line)
    else out.line(table(['SEQ', 'TIME', 'WHO', 'DECISION', 'TIMES', 'FROM', 'OPERATION', 'PATH'], lines.map(rowOf)))
  })
}
