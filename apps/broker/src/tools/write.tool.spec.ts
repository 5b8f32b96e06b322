import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { outputOf, setToolStage } from '../../../../test/support/tool-stage.js'
import { editTool } from './edit.tool.js'
import { readTool } from './read.tool.js'
import { writeTool } from './write.tool.js'

const stage = setToolStage()
const write = (path: string, content: string): Promise<string> =>
  outputOf(writeTool(stage.files, stage.seen), { path, content })
const read = (path: string): Promise<string> => outputOf(readTool(stage.files, stage.seen), { path })
const edit = (path: string, old_text: string, new_text: string): Promise<string> =>
  outputOf(editTool(stage.files, stage.seen), { path, old_text, new_text })

describe('write', () => {
  it('makes a file with the directories above it, and replaces what it made itself, with its mode kept', async () => {
    expect(await write('new/deep/run.sh', 'one\ntwo\n')).toBe('Created new/deep/run.sh (2 lines, 8 bytes).')
    chmodSync(join(stage.cwd, 'new/deep/run.sh'), 0o755)
    expect(await write(join(stage.cwd, 'new/deep/run.sh'), 'three')).toContain('(1 line, 5 bytes, 8 bytes before)')
    expect(stage.get('new/deep/run.sh')).toBe('three')
    expect(statSync(join(stage.cwd, 'new/deep/run.sh')).mode & 0o777).toBe(0o755)
    expect(readdirSync(join(stage.cwd, 'new/deep'))).toEqual(['run.sh'])
  })

  // A file that the model had never seen was replaced by what it thought the file should be.
  it('refuses to replace what was not read', async () => {
    stage.put('a.txt', 'precious')
    await expect(write('a.txt', 'x')).rejects.toThrow('a.txt exists, and you have not read it')
    expect(stage.get('a.txt')).toBe('precious')
    await read('a.txt')
    expect(await write('a.txt', 'x')).toContain('Replaced a.txt')
    stage.put('empty', '')
    expect(await write('empty', 'x')).toContain('Replaced empty')
  })

  it('refuses to replace what has changed since it was read', async () => {
    const path = stage.put('a.txt', 'first')
    await read('a.txt')
    writeFileSync(path, 'second')
    await expect(write('a.txt', 'x')).rejects.toThrow('was changed by something else since you read it')
    expect(stage.get('a.txt')).toBe('second')
    await read('a.txt')
    await write('a.txt', 'third')
    expect(stage.get('a.txt')).toBe('third')
  })

  it('takes an own edit for known, and an edit of what was never read for no reading', async () => {
    stage.put('a.txt', 'one two')
    await read('a.txt')
    await edit('a.txt', 'one', '1')
    expect(await write('a.txt', 'all new')).toContain('Replaced')
    stage.put('b.txt', 'one two')
    await edit('b.txt', 'one', '1')
    await expect(write('b.txt', 'x')).rejects.toThrow('you have not read it')
  })

  it('refuses what is no file', async () => {
    mkdirSync(join(stage.cwd, 'dir'))
    await expect(write('dir', 'x')).rejects.toThrow('is a directory')
    await expect(write('.', 'x')).rejects.toThrow('directory')
    await expect(write('a\0b', 'x')).rejects.toThrow('"path" holds a zero byte')
    stage.put('file', 'x')
    await expect(write('file/below', 'x')).rejects.toThrow(/file\/below/)
  })
})
