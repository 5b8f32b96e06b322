import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { NodeDirectoryStore } from './node.directories.js'

const day = 86_400_000

describe('the directories of nodes', () => {
  let path: string
  let store: NodeDirectoryStore

  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'svc-directories-'))
    store = new NodeDirectoryStore(path, systemClock)
  })
  afterEach(() => rmSync(path, { recursive: true, force: true }))

  const age = (nodeId: string, days: number): void => {
    const at = (systemClock.now() - days * day) / 1000
    utimesSync(join(path, nodeId), at, at)
  }

  it('are forgotten when their node was not here for long, and remembered when it comes back', async () => {
    for (const node of ['old', 'new']) await store.prepare(node, '')
    age('old', 31)
    age('new', 29)
    expect(await store.forgotten(30 * day)).toEqual(['old'])
    await store.prepare('old', '')
    expect(await store.forgotten(30 * day)).toEqual([])
  })

  it('are removed with all that is in them, also where an earlier removal was cut off', async () => {
    const { home } = await store.prepare('old', '')
    writeFileSync(join(home, 'file'), '')
    await store.prepare('.removed-older', '')
    expect(await store.forgotten(day)).toEqual([])
    expect(existsSync(join(path, '.removed-older'))).toBe(false)
    await store.remove('old')
    expect(existsSync(join(path, 'old'))).toBe(false)
  })

  it('are none before the first node', async () => {
    expect(await new NodeDirectoryStore(join(path, 'none'), systemClock).forgotten(day)).toEqual([])
  })
})
