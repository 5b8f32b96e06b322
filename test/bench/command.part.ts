import { svc } from '../support/command.js'
import { type Part, rounds } from './bench.js'
import { most, rowsOf } from './row.js'
import { measure } from './stats.js'

/** The built command from its start to its end. */
export const command: Part = async (bench) => {
  const rows = []
  for (const args of [
    ['sys', 'version'],
    ['node', 'list'],
  ]) {
    const found = await rounds(bench, 15, (count) =>
      measure(count, 1, async () => {
        const { code, stderr } = await svc(bench.daemon, args)
        if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`)
      }),
    )
    rows.push(
      ...rowsOf('command', `svc ${args.join(' ')}`, found, {
        p50: { target: most(120), floor: 'process: node -e 0, p50' },
      }),
    )
  }
  return rows
}
