import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'
import { sizeText } from '../../output/size.js'

let svc: SvcCommand
beforeAll(async () => {
  svc = await SvcCommand.start()
})
afterAll(() => svc.stop())

describe('svc sys retention', () => {
  it('shows what is kept, and the directories of this machine beside it', async () => {
    mkdirSync(join(svc.dataDir, 'nodes/a'), { recursive: true })
    writeFileSync(join(svc.dataDir, 'nodes/a/file'), 'x'.repeat(10_000))
    const one = { class: 'nodes', what: 'n', kept: '30 days', days: 30, setting: 'SVC_KEEP_NODES_DAYS', rows: 5 }
    const run = { bytes: 2048, last_run_at: '2026-01-01T00:00:00.000Z', removed: 2, removed_total: 9 }
    svc.wire.says(json({ classes: [{ ...one, ...run }], database_bytes: 1024 ** 2 }))
    const { code, out } = await svc.run(['sys', 'retention'])
    expect(code).toBe(0)
    expect(svc.wire.only).toMatchObject({ method: 'GET', path: '/v1/retention' })
    for (const text of ['nodes', '30 days', '2 KiB', '2 (9 in all)', 'database 1 MiB', '12 KiB'])
      expect(out).toContain(text)
  })
})

describe('a size', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [300 * 1024 ** 2, '300 MiB'],
  ])('%d is %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text)
  })
})
