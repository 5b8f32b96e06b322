import type { Command } from 'commander'
import type { Client, CronFire, CronsFiresListResponse } from '#sdk/index.js'
import { pause } from '../../clock.js'
import { failureText, fireText, hasEnded, lastOutput } from '../../cron/fire.text.js'
import { CommandError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

/** Between two looks (ms); one of them outlives a restart of the daemon. */
const lookEvery = 500
const overRestarts = { timeout: 60_000, maxRetries: 10 }

export const registerRun = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'run <id>', {
    calls: ['crons.run'],
    mayCall: ['crons.retrieve', 'crons.fires.list'],
    summary: 'Fire it now, whatever its status; its slots stay where they are',
    examples: [['svc cron run <id> --wait', 'wait for the end of its work; exit code 1 unless it succeeds']],
  }).option('--wait', 'wait until its work has ended')
  performs<{ wait?: boolean }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const svc = await client()
    const fire = options.wait ? await runToEnd(svc, id) : await svc.crons.run(id)
    if (json) out.json(fire)
    else {
      const output = lastOutput(fire)
      if (output) out.line(output)
      if (!options.wait || fire.status === 'succeeded') out.note(`${id} ${fireText(fire)}`)
      if (!options.wait) out.note(`what becomes of it: svc cron history ${id}`)
    }
    if (options.wait) failUnlessSucceeded(fire)
  })
}

/** @throws CommandError when the schedule is deleted before its end was seen */
const runToEnd = async (svc: Client, id: string): Promise<CronFire> => {
  const { delete_after_run } = await svc.crons.retrieve(id)
  let fire = await svc.crons.run(id)
  while (!hasEnded(fire)) {
    await pause(lookEvery)
    try {
      fire = (await lookAt(svc, fire)) ?? fire
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'not_found') throw error
      // such a one goes in the moment of its success
      if (delete_after_run) return { ...fire, status: 'succeeded' }
      throw new CommandError(`${id} was deleted meanwhile`, `what it had begun goes on: svc ledger --cron ${id}`)
    }
  }
  return fire
}

/** The firing as it stands now; those after it may have filled a page meanwhile. */
const lookAt = async (svc: Client, { cron_id, slot }: CronFire): Promise<CronFire | undefined> => {
  for (let after = ''; ; ) {
    const path = `/v1/crons/${encodeURIComponent(cron_id)}/fires?limit=200${after}`
    const page = await svc.request<CronsFiresListResponse>('GET', path, undefined, overRestarts)
    const found = page.data.find((one) => one.slot === slot)
    if (found || page.next_cursor === null) return found
    after = `&after=${encodeURIComponent(page.next_cursor)}`
  }
}

const failUnlessSucceeded = (fire: CronFire): void => {
  if (fire.status === 'succeeded') return
  const { cron_id, node_id } = fire
  throw new CommandError(
    `its work did not succeed: it is ${fire.status}${failureText(fire) ? ` (${failureText(fire)})` : ''}`,
    node_id ? `svc node outcome ${node_id} says how it ended` : `svc cron history ${cron_id} has all of its slots`,
  )
}
