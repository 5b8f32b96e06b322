import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { JobEnd } from '#common/contract/job.internal.js'
import { systemClock } from '#common/kernel/clock.js'
import { JobStore } from './job.store.js'

const claim = (job_id: string) => ({ job_id, node_id: 'node_a', started_at: '2026-01-01T00:00:00.000Z' })
const endOf = (job_id: string): JobEnd => ({
  job_id,
  node_id: 'node_00000000000000000000000000',
  status: 'exited',
  exit_code: 0,
  signal: null,
  ended_at: '2026-01-01T00:00:00.000Z',
  output_bytes: 0,
  truncated: false,
  error: null,
  tail: '',
})

describe('the files of jobs', () => {
  let path: string
  let store: JobStore

  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'svc-jobs-'))
    store = new JobStore(path)
  })
  afterEach(() => rmSync(path, { recursive: true, force: true }))

  it('are claimed once', () => {
    expect(store.claim(claim('job_one'))).toBe(true)
    expect(store.claim(claim('job_one'))).toBe(false)
  })

  // A host did not start with one.
  it('are found and swept although somebody put a file among them', async () => {
    writeFileSync(join(path, 'job_file'), '')
    for (const id of ['job_left', 'job_told']) store.claim(claim(id))
    store.markTold(endOf('job_told'))
    expect(store.leftovers()).toEqual({ untold: [], endless: [claim('job_left')] })
    const limits = { age: 0, bytes: 0, jobs: 0 }
    expect(await store.sweep(limits, systemClock.now())).toBe(1)
    expect(existsSync(join(path, 'job_told'))).toBe(false)
    expect(existsSync(join(path, 'job_left'))).toBe(true)
  })
})
