import type { Command } from 'commander'
import type { Report } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerReports = (node: Command, shell: Shell): void => {
  const made = command(node, 'reports <id>', {
    calls: ['nodes.reports.list'],
    summary: 'Read the reports of a node, oldest first',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    for await (const report of (await client()).nodes.reports.list(id)) {
      if (json) out.record(report)
      else
        out.line(
          `${out.paint('green', report.kind)} ${out.paint('dim', `${ago(report.created_at)} ago`)}\n${report.body}\n${attachedText(report)}`,
        )
    }
  })
}

const attachedText = ({ attachments = [] }: Report): string =>
  attachments.map(({ id, name, content_type, bytes }) => `  ${id}  ${name}, ${content_type}, ${bytes} bytes\n`).join('')
