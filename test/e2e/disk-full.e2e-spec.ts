import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'
import { SmallDisk } from '../support/small-disk.js'

const disk = SmallDisk.mount(400)

describeWhere(disk !== undefined, 'a mount of one’s own', 'a daemon whose disk is full', () => {
  let daemon: TestDaemon

  beforeAll(async () => {
    const dataDir = join(disk?.path ?? '', 'svc')
    mkdirSync(dataDir)
    daemon = await TestDaemon.start({ dataDir })
  })
  afterAll(async () => {
    await daemon.stop()
    disk?.unmount()
  })

  const program = (prompt: string) => ({
    prompt,
    cwd: daemon.workDir,
    engine: 'exec',
    lifecycle: 'terminal' as const,
    exec: { argv: ['echo', 'room again'], stdin: 'text' as const },
  })
  /** Text that no compression makes small, so that the database must ask for room. */
  const long = (): string => randomBytes(150_000).toString('base64')
  const nodes = async () => (await daemon.rows('SELECT id FROM canvas.nodes ORDER BY id')).map(({ id }) => id)

  it('says so by the documented code, writes nothing, and serves again by itself when there is room', async () => {
    const client = daemon.client({ maxRetries: 0 })
    const first = await client.nodes.createAndWait(program('before'))
    disk?.fill()

    await expect(client.nodes.create(program(long()))).rejects.toMatchObject({ code: 'storage_full', status: 507 })
    expect(await nodes()).toEqual([first.node_id])
    expect(await client.nodes.retrieve(first.node_id)).toMatchObject({ status: 'done' })

    disk?.free()
    const after = await waitFor(() => client.nodes.createAndWait(program(long())), {
      timeout: 30_000,
      what: 'service with room on the disk',
    })
    expect(after).toMatchObject({ status: 'done', final_report: { body: 'room again' } })
    expect(await nodes()).toHaveLength(2)
  })
})
