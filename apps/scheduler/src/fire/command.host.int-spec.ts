import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { contract } from '#common/contract/index.js'
import { defaultPulse } from '#common/kernel/bus/heartbeat.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { natsUrlAs } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

const program = new URL('../../../../dist/apps/host/src/main.js', import.meta.url).pathname

let scheduler: SchedulerUnderTest
let lifecycle: TestPeer
let host: ChildProcess
let dataDir: string
let workDir: string

beforeEach(async () => {
  dataDir = mkdtempSync('/var/tmp/svc-cron-data-')
  workDir = mkdtempSync('/var/tmp/svc-cron-work-')
  scheduler = await SchedulerUnderTest.start()
  let hellos = 0
  lifecycle = await joinBus(scheduler.nats, 'lifecycle', {
    operations: [contract['lifecycle.host.hello'], contract['lifecycle.host.exited']],
    handlers: {
      'lifecycle.host.hello': async () => {
        hellos += 1
        return { accepted: true }
      },
      'lifecycle.host.exited': async () => ({ noted: true }),
    },
  })
  host = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NATS_URL: natsUrlAs(scheduler.nats, 'host'),
      SVC_DATA_DIR: dataDir,
      SVC_HEALTH_LISTEN: '127.0.0.1:0',
      SVC_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await waitFor(() => hellos > 0, { what: 'the first hello' })
})
afterEach(async () => {
  const gone = once(host, 'exit')
  host.kill('SIGTERM')
  await gone
  await Promise.all([lifecycle.close(), scheduler.stop()])
  for (const path of [dataDir, workDir]) rmSync(path, { recursive: true, force: true })
})

const place = (name: string): string => join(workDir, name)
const begin = async (command: string): Promise<Cron> => {
  const cron = await scheduler.create({ action: { type: 'bash', cwd: workDir, command, timeout: 60_000 } })
  await scheduler.call('crons.run', { id: cron.id })
  await scheduler.until(cron.id, 'running')
  return cron
}

describe('a command that runs while its scheduler stops', () => {
  // The host ended it within a beat: each start of the daemon's schedules made every such firing one of unknown outcome.
  it('goes on, once, and its end is known to the next one', async () => {
    const cron = await begin('printf x >> begun; until [ -e go-on ]; do sleep 0.02; done; echo gone on')
    let stopped = false
    const stopping = scheduler.stopService().then(() => (stopped = true))
    await waitFor(() => {
      scheduler.clock.advance(1000)
      return stopped
    })
    await stopping
    const since = performance.now()
    await waitFor(() => performance.now() - since > defaultPulse.beat * 1.5, { timeout: 20_000 })
    await scheduler.another()
    scheduler.clock.advance(30_000)
    writeFileSync(place('go-on'), '')
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({ exit_code: 0, output: 'gone on\n' })
    expect(readFileSync(place('begun'), 'utf8')).toBe('x')
  }, 60_000)
})
