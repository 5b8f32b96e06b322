import type { Command } from 'commander'
import type { Report } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { attachmentsOf, textOf } from '../input.js'
import { command, performs } from '../invocation.js'
import type { Shell } from '../shell.js'

interface PushOptions {
  readonly final?: boolean
  readonly urgent?: boolean
  readonly attach?: string[]
}

export const registerPush = (program: Command, shell: Shell): void => {
  const made = command(program, 'push <text>', {
    calls: ['nodes.reports.push'],
    summary: 'Publish a report, as the node that this runs in',
    about: 'A final report ends the present piece of work. The text "-" is read from standard input.',
    examples: [
      ['svc push "half of the files are done"', 'an update for those who watch'],
      ['svc push --urgent "the build is broken"', 'wakes the one that this node works for'],
      ['svc push --final - < report.md', 'the final report'],
    ],
  })
    .option('--final', 'the report that ends the work')
    .option('--urgent', 'reaches the subscribers at their next step')
    .option('--attach <file>', 'publish a file with it; again for each', (path: string, before: string[] = []) => [
      ...before,
      path,
    ])
  performs<PushOptions>(made, shell, async ({ client, connection, out, json, options }, text) => {
    if (shell.nodeId === undefined) {
      throw new UsageError(
        'this does not run inside a node',
        'a node reports for itself; SVC_NODE_ID names it in its tools',
      )
    }
    if (options.final && options.urgent) throw new UsageError('--final and --urgent exclude each other')
    const kind = options.final ? 'final' : options.urgent ? 'urgent' : 'update'
    const { token } = connection()
    const given = await textOf(text, 'the report')
    // Output that is reported may hold the environment: the node's key is nothing for those who read the report.
    const body = token === undefined ? given : given.replaceAll(token, "[the node's token]")
    const svc = await client()
    const report = await svc.request<Report>('POST', `/v1/nodes/${encodeURIComponent(shell.nodeId)}/reports`, {
      kind,
      body,
      ...(options.attach && { attachments: attachmentsOf(options.attach, token) }),
    })
    if (json) out.json(report)
    else out.line(`${report.id}  ${report.kind}`)
  })
}
