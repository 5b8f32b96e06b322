import type { Command } from 'commander'
import type { Retention } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { localDaemon } from '../../local/data-directory.js'
import { directorySizes } from '../../local/directory-sizes.js'
import { sizeText } from '../../output/size.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerRetention = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'retention', {
    calls: ['retention.show'],
    summary: 'How long what is kept, how much room it takes, and what was cleared last',
    about: 'The directories are those of the data directory of this machine.',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const kept = await (await client()).request<Retention>('GET', '/v1/retention')
    const directories = await directorySizes(localDaemon(shell.env).dataDir)
    if (json) return out.json({ ...kept, directories })
    out.line(
      table(
        ['CLASS', 'KEPT', 'SIZE', 'ROWS', 'LAST RUN', 'REMOVED', 'SETTING'],
        kept.classes.map((one) => [
          one.class,
          one.kept,
          sizeText(one.bytes),
          String(one.rows),
          one.last_run_at === null ? '-' : `${ago(one.last_run_at)} ago`,
          one.last_run_at === null ? '-' : `${one.removed} (${one.removed_total} in all)`,
          one.setting ?? '',
        ]),
      ),
    )
    out.line(`\ndatabase ${sizeText(kept.database_bytes)}`)
    if (directories.length === 0) return
    out.line(
      `\n${table(
        ['DIRECTORY', 'SIZE'],
        directories.map(({ name, bytes }) => [name, sizeText(bytes)]),
      )}`,
    )
  })
}
