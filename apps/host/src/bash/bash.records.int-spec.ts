import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { systemClock } from '#common/kernel/clock.js'
import { isSvcError } from '#common/kernel/errors.js'
import { createLogger } from '#common/kernel/log.js'
import { waitFor } from '#common/testing/wait-for.js'
import { BashRecords, type Claim, type RecordBounds, usualBounds } from './bash.records.js'

let path: string
let later = 0
const opened: BashRecords[] = []
const clock: Clock = { ...systemClock, now: () => systemClock.now() + later }
const command = { cwd: '/', command: 'true', timeout: 1000 }
const answer = (stdout = 'x') => ({
  exit_code: 0,
  signal: null,
  stdout,
  stderr: '',
  truncated: false,
  duration_ms: 1,
  timed_out: false,
})

/** A store as the next start of the host opens it. */
const open = async (bounds: Partial<RecordBounds> = {}): Promise<BashRecords> => {
  const records = new BashRecords(path, clock, createLogger('host', 'silent'), { ...usualBounds, ...bounds })
  await records.open()
  opened.push(records)
  return records
}

const take = async (records: BashRecords, key: string, more = {}): Promise<Claim> => {
  const claim = await records.claim('owner', key, { ...command, ...more })
  if (!('keep' in claim)) throw new Error('the key was used')
  return claim
}

const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  )
  if (isSvcError(error)) return error.code
  throw error
}

beforeEach(() => {
  later = 0
  path = mkdtempSync(join(tmpdir(), 'svc-bash-records-'))
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((records) => records.close()))
  rmSync(path, { recursive: true, force: true })
})

describe('a key', () => {
  it('is on the disk, for its owner’s eyes, before the command starts', async () => {
    await take(await open(), 'a')
    const [name = ''] = readdirSync(path)
    expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(path, name), 'utf8')).not.toContain('answer')
  })

  it('is claimed by one of many who ask at once', async () => {
    const records = await open()
    const asked = Array.from({ length: 20 }, () =>
      records.claim('owner', 'a', command).then(
        () => 'claimed',
        (e) => e.code,
      ),
    )
    const outcomes = await Promise.all(asked)
    expect(outcomes.filter((outcome) => outcome === 'claimed')).toHaveLength(1)
    expect(new Set(outcomes)).toEqual(new Set(['claimed', 'idempotency_in_progress']))
  })

  it('repeats its answer after a restart of the host, and refuses another body', async () => {
    await (await take(await open(), 'a', { env: { A: '1', B: '2' } })).keep(answer())
    const records = await open()
    expect(await records.claim('owner', 'a', { ...command, env: { B: '2', A: '1' } })).toEqual(answer())
    expect(await refusal(records.claim('owner', 'a', { ...command, stdin: 'x' }))).toBe('idempotency_key_reused')
    await take(records, 'b')
    expect('keep' in (await records.claim('node:n', 'a', command))).toBe(true)
  })

  it('of a command that a host died under has an unknown outcome', async () => {
    await take(await open(), 'a')
    const records = await open()
    expect(await refusal(records.claim('owner', 'a', command))).toBe('outcome_unknown')
    expect(await refusal(records.claim('owner', 'a', { ...command, cwd: '/tmp' }))).toBe('idempotency_key_reused')
  })

  it('whose file a death cut off counts as started, whatever the request says', async () => {
    await take(await open(), 'a')
    truncateSync(join(path, readdirSync(path)[0] as string), 0)
    expect(await refusal((await open()).claim('owner', 'a', command))).toBe('outcome_unknown')
  })

  it('that was released, or is older than a day, is free', async () => {
    const records = await open()
    await (await take(records, 'a')).release()
    expect(readdirSync(path)).toEqual([])
    await (await take(records, 'a')).keep(answer())
    later = usualBounds.keptFor + 1000
    await take(records, 'a')
  })
})

describe('the store', () => {
  it('forgets at its start what is older than a day, and what was never finished', async () => {
    await (await take(await open(), 'a')).keep(answer())
    writeFileSync(join(path, 'cut.new'), '{')
    utimesSync(join(path, 'cut.new'), 0, 0)
    await open()
    expect(readdirSync(path)).toHaveLength(1)
    later = usualBounds.keptFor + 1000
    await open()
    expect(readdirSync(path)).toEqual([])
  })

  it('drops the oldest answers beyond its size, and runs none of them again', async () => {
    const records = await open({ bytes: 10_000 })
    for (const key of ['a', 'b', 'c', 'd']) {
      await (await take(records, key)).keep(answer('x'.repeat(4000)))
    }
    const size = (): number => readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
    await waitFor(() => size() <= 10_000)
    await records.close()
    const again = await open({ bytes: 10_000 })
    const outcomes = await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) =>
        again.claim('owner', key, command).then(
          (first) => ('keep' in first ? 'free' : 'answered'),
          (error) => error.code,
        ),
      ),
    )
    expect(new Set(outcomes)).toEqual(new Set(['answered', 'outcome_unknown']))
    expect(readdirSync(path)).toHaveLength(4)
  })

  it('forgets keys beyond their number, never one that is at work', async () => {
    const records = await open({ keys: 2, bytes: 1 })
    await take(records, 'w')
    const [working] = readdirSync(path)
    for (const key of ['a', 'b', 'c', 'd']) await (await take(records, key)).keep(answer())
    await waitFor(() => readdirSync(path).length <= 3)
    expect(readdirSync(path)).toContain(working)
  })
})
