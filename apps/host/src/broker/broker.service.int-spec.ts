import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import type { BrokerExit } from '#common/contract/internal.operations.js'
import { settings } from '#common/kernel/config.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readProcesses } from '#machine/process/process-table.js'
import { type HostPlace, hostPlaceOf } from '../host.place.js'
import { findSandboxGround } from '../sandbox/sandbox.ground.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'
import { BrokerFactory } from './broker.factory.js'
import { BrokerService } from './broker.service.js'

/** A broker that lies, or dies, as its token tells it. */
const program = `
import { spawn } from 'node:child_process'
process.on('disconnect', () => process.exit(0))
process.on('message', ({ node_id, generation, token }) => {
  const released = (spawned) => process.send({ type: 'released', node_id, generation, spawned })
  if (token === 'release') released(false)
  if (token === 'leave') {
    spawn('sleep', ['307'], { detached: true, stdio: 'ignore' }).once('spawn', () => released(true))
  }
  if (token === 'foreign') process.send({ type: 'released', node_id, generation: generation + 1, spawned: false })
  if (token === 'fail') {
    process.stderr.write('first line\\nthe reason\\n', () => process.exit(9))
  }
})
`

describe('the brokers of a host', () => {
  let directory: string
  let place: HostPlace
  let brokers: BrokerService
  let exits: BrokerExit[]

  const launch = (token: string, node_id = newId('node'), generation = 1) =>
    brokers.launch({
      node_id,
      generation,
      token,
      base_url: 'http://127.0.0.1:1',
      pool_key: 'owner',
      cwd: '/srv',
      scopes: [],
    })

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'svc-brokers-'))
    writeFileSync(join(directory, 'broker.mjs'), program)
    place = hostPlaceOf(settings.parse({ SVC_DATA_DIR: directory, SVC_BROKER_WARM: 0 }), join(directory, 'broker.mjs'))
    const planner = new SandboxPlanner(place, await findSandboxGround(place))
    brokers = new BrokerService(place, new BrokerFactory(place), planner, pino({ level: 'silent' }))
    exits = []
    brokers.onExit = (exit) => exits.push(exit)
  })
  afterEach(async () => {
    await brokers.close()
    rmSync(directory, { recursive: true, force: true })
  })

  it('look for what is left before they take a process back, and end it with its broker', async () => {
    const { pid } = await launch('leave')
    await waitFor(() => exits.length === 1)
    expect(exits[0]).toMatchObject({ pid, clean: true })
    expect(readProcesses().filter((row) => row.parent === pid)).toEqual([])
    expect(brokers.live).toBe(0)
    expect((await launch('release')).pid).not.toBe(pid)
  })

  it('believe a release only of the node and generation that the process has', async () => {
    const { pid } = await launch('foreign')
    const other = await launch('release')
    await waitFor(() => brokers.live === 1)
    expect(brokers.hosted()).toMatchObject([{ pid }])
    expect(other.pid).not.toBe(pid)
  })

  it('tell how a broker failed, with its last words', async () => {
    const { pid } = await launch('fail')
    await waitFor(() => exits.length === 1)
    expect(exits[0]).toMatchObject({ pid, exit_code: 9, signal: null, clean: false, detail: 'first line\nthe reason' })
  })

  it('take no launch any more once they are being ended', async () => {
    await launch('stay')
    const closing = brokers.close()
    await expect(launch('stay')).rejects.toMatchObject({ code: 'service_unavailable' })
    await closing
    expect(brokers.live).toBe(0)
  })

  it('do not wait with one node for the end of another', async () => {
    const slow = newId('node')
    await launch('stay', slow)
    const stopped = brokers.stop(slow, 1, 2000)
    expect(await launch('release')).toMatchObject({ state: 'launched' })
    expect(await stopped).toEqual({ stopped: true })
  })
})
