import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
const elsewhere = mkdtempSync('/var/tmp/svc-files-e2e-')

beforeAll(async () => {
  daemon = await TestDaemon.start()
})
afterAll(async () => {
  await daemon.stop()
  rmSync(elsewhere, { recursive: true, force: true })
})

const at = (name: string): string => join(elsewhere, name)
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error) => error.code,
  )

describe('the owner', () => {
  it('writes 1 MiB of any bytes or text and not one byte more', async () => {
    const { files } = daemon.client()
    const bytes = Buffer.alloc(1024 * 1024, 0xf5)
    expect(await files.write({ path: at('a'), base64: bytes.toString('base64') })).toMatchObject({ created: true })
    expect(readFileSync(at('a')).equals(bytes)).toBe(true)
    // Characters that take six bytes each on the wire.
    const content = '\u0001'.repeat(1024 * 1024)
    expect((await files.write({ path: at('a'), content })).size).toBe(1024 * 1024)
    const base64 = Buffer.alloc(1024 * 1024 + 1).toString('base64')
    expect(await codeOf(files.write({ path: at('a'), base64 }))).toBe('file_too_large')
    expect(await codeOf(files.write({ path: at('a'), content: `${content}a` }))).toBe('file_too_large')
    expect(readFileSync(at('a'), 'utf8') === content).toBe(true)
    expect(await codeOf(files.write({ path: at('a'), content: 'a', base64: 'YQ==' }))).toBe('validation_failed')
  })

  it('reads a file piece by piece, and changes it only as it was read', async () => {
    const { files } = daemon.client()
    writeFileSync(at('text'), 'ü'.repeat(200_000))
    let text = ''
    let etag = ''
    for (let offset: number | null = 0; offset !== null; ) {
      const piece = await files.read({ path: at('text'), offset })
      expect(piece.truncated).toBe(piece.next_offset !== null)
      text += piece.content
      offset = piece.next_offset
      etag = piece.etag
    }
    expect(text).toBe('ü'.repeat(200_000))
    await files.write({ path: at('text'), content: 'changed', if_match: etag })
    expect(await codeOf(files.write({ path: at('text'), content: 'lost', if_match: etag }))).toBe('precondition_failed')
    expect(readFileSync(at('text'), 'utf8')).toBe('changed')
  })

  it('lists a directory over its pages', async () => {
    mkdirSync(at('many'))
    const names = Array.from({ length: 2500 }, (_, n) => `file-${String(n).padStart(4, '0')}`)
    for (const name of names) writeFileSync(join(at('many'), name), '')
    const { files } = daemon.client()
    const first = await files.list({ path: at('many') }).page
    expect([first.data.length, first.has_more]).toEqual([1000, true])
    const found: string[] = []
    for await (const { name } of files.list({ path: at('many') })) found.push(name)
    expect(found).toEqual(names)
  })

  it('does the same by the command', async () => {
    const made = await svc(daemon, ['file', 'write', '--parents', at('new/note'), 'hello'])
    expect(made.stdout).toBe(`created ${at('new/note')} (5 bytes)\n`)
    expect((await svc(daemon, ['file', 'read', at('new/note')])).stdout).toBe('hello')
    expect((await svc(daemon, ['file', 'list', at('new')])).stdout).toContain('note')
  })
})

describe('a program of a node', () => {
  it('finds by the routes what it finds by itself, and nothing else', async () => {
    writeFileSync(at('secret'), 'key')
    const script = [
      'svc file write from-route made; cat from-route; echo made > /tmp/mine; svc file read /tmp/mine',
      `ln -s ${at('secret')} link; svc file read link; svc file read ${at('secret')}; svc file list /etc`,
      `svc file write ${at('secret')} changed; svc file read ${daemon.data.path}/owner.token`,
    ].join('; ')
    const client = daemon.client()
    const node = await client.nodes.createAndWait({
      prompt: 'look',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
      scopes: ['svc:llm', 'svc:act'],
      engine: 'exec',
      exec: { argv: ['sh', '-c', `{ ${script}; } > output 2>&1; true`] },
    })
    expect(node.status).toBe('done')
    const output = readFileSync(join(daemon.workDir, 'output'), 'utf8')
    expect(output).toContain('created')
    expect(output.match(/made/g)).toHaveLength(2)
    expect(output.match(/path_outside_scope/g)?.length).toBeGreaterThanOrEqual(4)
    // Where the daemon's directory lies in the machine's /tmp, there is nothing of that name in the node's own.
    expect(output).not.toMatch(/key|svc_own_/)
    expect(readFileSync(at('secret'), 'utf8')).toBe('key')
  })
})
