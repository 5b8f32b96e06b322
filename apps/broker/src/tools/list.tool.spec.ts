import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { outputOf, runTool, setToolStage } from '../../../../test/support/tool-stage.js'
import { listTool } from './list.tool.js'

const stage = setToolStage()
const list = (input: Record<string, unknown> = {}): Promise<string> => outputOf(listTool(stage.files), input)

describe('list', () => {
  it('shows two levels: directories, files with their sizes, and where links lead', async () => {
    stage.put('a.txt', '12345')
    stage.put('src/b.ts', '1')
    stage.put('src/deep/c.ts', '1')
    symlinkSync('a.txt', join(stage.cwd, 'link'))
    symlinkSync('/etc', join(stage.cwd, 'out'))
    expect(await list()).toBe('a.txt  5\nlink -> a.txt\nout -> /etc\nsrc/\n  b.ts  1\n  deep/')
    expect(await list({ depth: 1 })).toBe('a.txt  5\nlink -> a.txt\nout -> /etc\nsrc/')
    expect(await list({ depth: 3, path: 'src' })).toBe('b.ts  1\ndeep/\n  c.ts  1')
  })

  it('shows what is hidden, and what is ignored without going into it', async () => {
    stage.put('.gitignore', 'build/\n*.log\n')
    stage.put('.env', 'x')
    stage.put('build/out.js', 'x')
    stage.put('node_modules/a/index.js', 'x')
    stage.put('.git/config', 'x')
    stage.put('src/x.log', 'x')
    expect((await list()).split('\n')).toEqual([
      '.env  1',
      '.git/  (ignored)',
      '.gitignore  13',
      'build/  (ignored)',
      'node_modules/  (ignored)',
      'src/',
      '  x.log  1  (ignored)',
    ])
    expect(await list({ path: 'build' })).toBe('out.js  1')
  })

  it('stays bounded, and says where more is', async () => {
    for (let at = 0; at < 150; at += 1) stage.put(`many/f${String(at).padStart(4, '0')}`, '')
    const shown = (await list()).split('\n')
    expect(shown).toHaveLength(102)
    expect(shown.at(-1)).toBe('  [… more entries: list many/ by itself, or find them with glob …]')
    expect((await list({ path: 'many' })).split('\n')).toHaveLength(150)
    for (let at = 0; at < 1100; at += 1) stage.put(`huge/f${at}`, '')
    expect((await list({ path: 'huge' })).split('\n')).toHaveLength(1001)
  })

  it('says what is wrong with what can not be listed', async () => {
    stage.put('a.txt', 'x')
    mkdirSync(join(stage.cwd, 'empty'))
    expect(await list({ path: 'empty' })).toBe('empty is empty.')
    await expect(list({ path: 'a.txt' })).rejects.toThrow('a.txt is a file: use read')
    await expect(list({ path: 'emtpy' })).rejects.toThrow('Did you mean empty?')
    await expect(list({ path: '..' })).rejects.toThrow('path_outside_scope')
    await expect(list({ depth: 9 })).rejects.toThrow('"depth" must be a whole number from 1 to 5')
    await expect(runTool(listTool(stage.files), {}, AbortSignal.abort())).rejects.toThrow(/abort/)
  })
})
