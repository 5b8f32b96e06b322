import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import { NodeCountFile } from './node-count.file.js'

describe('the number of hosted nodes', () => {
  // Two writes at once once took each other's draft away, which showed under load only.
  it('is in its file at last, however fast it changes', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-count-'))
    const path = join(directory, 'host.json')
    const failures: unknown[] = []
    const hasty: Clock = { ...systemClock, after: (_ms, callback) => systemClock.after(0, callback) }
    const file = new NodeCountFile(path, hasty, (error) => failures.push(error))
    const waits: Promise<unknown>[] = []
    for (let count = 1; count <= 200; count += 1) {
      file.note(count)
      waits.push(waitFor(() => readFileSync(path, 'utf8')))
      await Promise.resolve()
    }
    await Promise.all(waits)
    await waitFor(() => readFileSync(path, 'utf8') === '{"nodes":200}')
    expect(failures).toEqual([])
    rmSync(directory, { recursive: true })
  })
})
