import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ToolProcesses } from '../process/tool-process.js'
import { ConfinedFiles } from './confined.path.js'
import { editTool } from './edit.tool.js'
import { listTool } from './list.tool.js'
import { readTool } from './read.tool.js'
import { searchTool } from './search.tool.js'
import { walk } from './search.walk.js'
import type { Tool } from './tool.js'
import { writeTool } from './write.tool.js'

let home: string
let cwd: string
let files: ConfinedFiles

const run = (tool: Tool, input: Record<string, unknown>): Promise<string> =>
  tool
    .run(input, { turn: 1, callId: 'c1', repeated: false, signal: new AbortController().signal, tell: () => undefined })
    .then(({ output }) => output)
const put = (name: string, text: string): string => {
  const path = join(cwd, name)
  writeFileSync(path, text)
  return path
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-tools-'))
  cwd = join(home, 'work')
  mkdirSync(cwd)
  mkdirSync(join(home, 'scratch'))
  writeFileSync(join(home, 'secret'), 'key')
  files = new ConfinedFiles(cwd, join(home, 'scratch'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

describe('changes that are asked for together', () => {
  // Both read the file before either had written it, and one of the two was lost.
  it('all take effect, in their order', async () => {
    put('a.txt', 'one\ntwo\nthree\n')
    const edit = (old_text: string, new_text: string) => run(editTool(files), { path: 'a.txt', old_text, new_text })
    const failing = edit('four', '4')
    await Promise.all([edit('one', '1'), edit('two', '2'), edit('2\nthree', '2\n3'), failing.catch(() => undefined)])
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('1\n2\n3\n')
    await expect(failing).rejects.toThrow(/does not occur/)
  })
})

describe('a search', () => {
  // Whatever this machine has: ripgrep took such a glob from the directory above, and found nothing.
  it('counts a glob with a slash from the directory that it searches', async () => {
    mkdirSync(join(cwd, 'src/deep'), { recursive: true })
    put('src/a.json', '{"key": 1}\n')
    put('src/deep/b.json', '{"key": 2}\n')
    put('c.json', '{"key": 3}\n')
    const search = searchTool(files, new ToolProcesses(`test:${process.pid}`, 'token'))
    expect(await run(search, { glob: 'src/**/*.json' })).toBe('src/a.json\nsrc/deep/b.json')
    expect(await run(search, { glob: 'src/*.json', pattern: 'key' })).toBe('src/a.json:1:{"key": 1}')
    expect(await run(search, { glob: '*.json', path: 'src' })).toBe('a.json\ndeep/b.json')
  })
})

describe('text that is not UTF-8', () => {
  // It was read with replacement characters and written back with them: every other umlaut of the file was lost.
  it('is not edited, and stays as it is', async () => {
    const path = join(cwd, 'latin1.txt')
    const bytes = Buffer.from('Gr\u00fc\u00dfe\nold\n', 'latin1')
    writeFileSync(path, bytes)
    await expect(run(editTool(files), { path: 'latin1.txt', old_text: 'old', new_text: 'new' })).rejects.toThrow(
      /not UTF-8.*nothing was changed/,
    )
    expect(readFileSync(path)).toEqual(bytes)
  })

  it('but begins with a byte order mark keeps it', async () => {
    const path = put('bom.txt', '\ufeffold\n')
    await run(editTool(files), { path: 'bom.txt', old_text: 'old', new_text: 'new' })
    expect(readFileSync(path, 'utf8')).toBe('\ufeffnew\n')
  })
})

describe('confinement', () => {
  it.each(['../secret', '/etc/passwd', 'a/../../secret'])(
    'refuses to read %s, whether it exists or not',
    async (path) => {
      await expect(run(readTool(files), { path })).rejects.toThrow(/path_outside_scope/)
      await expect(run(readTool(files), { path: `${path}-absent` })).rejects.toThrow(/path_outside_scope/)
    },
  )

  it('judges a link by where it leads', async () => {
    symlinkSync(join(home, 'secret'), join(cwd, 'link'))
    symlinkSync(home, join(cwd, 'up'))
    for (const path of ['link', 'up/secret']) {
      await expect(run(readTool(files), { path })).rejects.toThrow(/path_outside_scope/)
      await expect(run(writeTool(files), { path, content: 'x' })).rejects.toThrow(/path_outside_scope/)
    }
    await expect(run(writeTool(files), { path: 'up/new/file', content: 'x' })).rejects.toThrow(/path_outside_scope/)
    await expect(run(listTool(files), { path: 'up' })).rejects.toThrow(/path_outside_scope/)
    expect(readFileSync(join(home, 'secret'), 'utf8')).toBe('key')
  })

  it('makes no file through a link that leads out to nothing', async () => {
    symlinkSync(join(home, 'fresh'), join(cwd, 'dangling'))
    await run(writeTool(files), { path: 'dangling', content: 'x' })
    expect(statSync(join(home, 'fresh'), { throwIfNoEntry: false })).toBeUndefined()
  })

  it('follows a link that stays inside, and keeps it', async () => {
    put('real.txt', 'old')
    symlinkSync('real.txt', join(cwd, 'link'))
    await run(writeTool(files), { path: 'link', content: 'new' })
    expect(readFileSync(join(cwd, 'real.txt'), 'utf8')).toBe('new')
  })

  it('lets the scratch directory be read but not written', async () => {
    const log = join(home, 'scratch', 'c1.log')
    writeFileSync(log, 'whole output')
    expect(await run(readTool(files), { path: log })).toContain('whole output')
    await expect(run(writeTool(files), { path: log, content: '' })).rejects.toThrow(/path_outside_scope/)
  })
})

describe('read', () => {
  it('numbers the lines and goes on at an offset', async () => {
    put('a.txt', 'one\ntwo\nthree\n')
    expect(await run(readTool(files), { path: 'a.txt' })).toBe('     1\tone\n     2\ttwo\n     3\tthree')
    expect(await run(readTool(files), { path: 'a.txt', offset: 2, limit: 1 })).toBe(
      '     2\ttwo\n[… more lines follow: go on with offset 3 …]',
    )
  })

  it('shows a long file in parts', async () => {
    put('long.txt', 'x\n'.repeat(2500))
    expect(await run(readTool(files), { path: 'long.txt' })).toContain('go on with offset 2001')
  })

  it('says what is wrong with what can not be read', async () => {
    put('empty', '')
    writeFileSync(join(cwd, 'binary'), Buffer.from([1, 0, 2]))
    put('short', 'one')
    expect(await run(readTool(files), { path: 'empty' })).toBe('empty is empty.')
    await expect(run(readTool(files), { path: 'absent' })).rejects.toThrow('absent does not exist')
    await expect(run(readTool(files), { path: 'binary' })).rejects.toThrow('binary file')
    await expect(run(readTool(files), { path: '.' })).rejects.toThrow('is a directory: use list')
    await expect(run(readTool(files), { path: 'short', offset: 5 })).rejects.toThrow('has 1 lines')
    await expect(run(readTool(files), { path: 'short', limit: 0 })).rejects.toThrow('"limit" must be a whole number')
  })
})

describe('write', () => {
  it('makes a file with the directories above it, and replaces one with its mode kept', async () => {
    await run(writeTool(files), { path: 'new/deep/run.sh', content: 'one' })
    chmodSync(join(cwd, 'new/deep/run.sh'), 0o755)
    expect(await run(writeTool(files), { path: join(cwd, 'new/deep/run.sh'), content: 'two' })).toContain('Replaced')
    expect(readFileSync(join(cwd, 'new/deep/run.sh'), 'utf8')).toBe('two')
    expect(statSync(join(cwd, 'new/deep/run.sh')).mode & 0o777).toBe(0o755)
  })
})

describe('edit', () => {
  it('replaces the one place where the text occurs', async () => {
    put('a.ts', 'const a = 1\nconst b = 2\n')
    expect(await run(editTool(files), { path: 'a.ts', old_text: 'b = 2', new_text: 'b = $& 3' })).toContain('line 2')
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toBe('const a = 1\nconst b = $& 3\n')
  })

  it('changes nothing when the text occurs several times, and says where', async () => {
    put('a.ts', 'x\ny\nx\nx\n')
    await expect(run(editTool(files), { path: 'a.ts', old_text: 'x', new_text: 'z' })).rejects.toThrow(
      'occurs 3 times in a.ts, at lines 1, 3, 4',
    )
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toBe('x\ny\nx\nx\n')
    await run(editTool(files), { path: 'a.ts', old_text: 'x', new_text: 'z', replace_all: true })
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toBe('z\ny\nz\nz\n')
  })

  it('says why a text is not found', async () => {
    put('a.ts', 'function f() {\n\treturn 1\n}\n')
    await expect(run(editTool(files), { path: 'a.ts', old_text: '  return 1', new_text: '' })).rejects.toThrow(
      'Line 2 is the same but for white space',
    )
    await expect(run(editTool(files), { path: 'a.ts', old_text: '     2\t\treturn 1', new_text: '' })).rejects.toThrow(
      'line numbers',
    )
    await expect(run(editTool(files), { path: 'a.ts', old_text: 'gone', new_text: '' })).rejects.toThrow(
      'does not occur in a.ts',
    )
    await expect(run(editTool(files), { path: 'a.ts', old_text: '', new_text: 'x' })).rejects.toThrow('empty')
    await expect(run(editTool(files), { path: 'a.ts', old_text: 'f', new_text: 'f' })).rejects.toThrow('the same')
  })

  it('keeps the line ends of a file from Windows', async () => {
    put('a.txt', 'one\r\ntwo\r\nthree\r\n')
    await run(editTool(files), { path: 'a.txt', old_text: 'one\ntwo', new_text: 'one\n2' })
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('one\r\n2\r\nthree\r\n')
  })
})

describe('list', () => {
  it('tells directories, files with their sizes, and where links lead', async () => {
    mkdirSync(join(cwd, 'sub'))
    put('a.txt', '12345')
    symlinkSync('a.txt', join(cwd, 'b'))
    expect(await run(listTool(files), {})).toBe('a.txt  5\nb -> a.txt\nsub/')
    await expect(run(listTool(files), { path: 'a.txt' })).rejects.toThrow('use read')
  })
})

describe('search without ripgrep', () => {
  const query = { pattern: undefined, glob: undefined, ignoreCase: false }

  it('finds lines and files, leaves out what nobody wrote, and follows no link', () => {
    mkdirSync(join(cwd, 'src'))
    mkdirSync(join(cwd, 'node_modules'))
    put('src/a.ts', 'let Needle = 1\n')
    put('src/b.md', 'needle\n')
    put('node_modules/c.ts', 'needle\n')
    symlinkSync(home, join(cwd, 'up'))
    expect(walk({ ...query, root: cwd, pattern: 'needle' }).lines).toEqual(['src/b.md:1:needle'])
    expect(walk({ ...query, root: cwd, pattern: 'needle', ignoreCase: true, glob: '*.ts' }).lines).toEqual([
      'src/a.ts:1:let Needle = 1',
    ])
    expect(walk({ ...query, root: cwd, glob: 'src/**' }).lines).toEqual(['src/a.ts', 'src/b.md'])
    expect(() => walk({ ...query, root: cwd, pattern: '(' })).toThrow('no regular expression')
  })

  it('answers a bounded number of matches', () => {
    put('many', 'x\n'.repeat(2000))
    const answer = walk({ ...query, root: cwd, pattern: 'x' })
    expect(answer.lines).toHaveLength(500)
    expect(answer.more).toBe(true)
  })
})
