import type { Command } from 'commander'
import { given } from '../../canvas/given.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface ReadOptions {
  readonly from?: number
  readonly to?: number
}

export const registerRead = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'read <id>', {
    calls: ['canvas.history.read'],
    summary: 'Read the turns of a node',
    examples: [['svc canvas read <id> --from 3 --to 4', 'two of them']],
  })
    .option('--from <turn>', 'the first turn', wholeNumber)
    .option('--to <turn>', 'the last turn', wholeNumber)
  performs<ReadOptions>(made, shell, async ({ client, out, json, options }, node = '') => {
    let turn = 0
    for await (const entry of (await client()).canvas.history.read({ node, ...given(options, 'from', 'to') })) {
      if (json) {
        out.record(entry)
        continue
      }
      if (entry.turn !== turn) out.line(out.paint('bold', `${turn === 0 ? '' : '\n'}turn ${entry.turn}`))
      turn = entry.turn
      const head = [entry.kind === 'turn' ? 'ended' : entry.kind, entry.label].filter(Boolean).join(' ')
      out.line(`${out.paint('cyan', head)}  ${out.paint('dim', entry.at.slice(0, 19))}`)
      if (entry.text) out.line(entry.text.trimEnd())
    }
  })
}
