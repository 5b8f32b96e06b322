import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { openPlan, outputOf, runTool, setToolStage } from '../../../../test/support/tool-stage.js'
import { ToolProcesses } from '../process/tool-process.js'
import { globExpression } from './glob.expression.js'
import { globTool } from './glob.tool.js'
import { Searches } from './search.run.js'
import { searchTool } from './search.tool.js'
import { walk } from './search.walk.js'

const stage = setToolStage()
const processes = (): ToolProcesses => new ToolProcesses(`test:${process.pid}`, 'token', openPlan(stage))
const withRipgrep = (): Searches => new Searches(stage.files, processes())
/** As on a machine without ripgrep; the thread's work is done here. */
const without = (hidden: string[] = []): Searches => {
  const absent = { start: () => ({ ended: Promise.resolve({ code: null, signal: null, refusal: spawnError }) }) }
  return new Searches(stage.files, absent as unknown as ToolProcesses, hidden, async (request) => walk(request))
}
const spawnError = Object.assign(new Error('spawn rg ENOENT'), { code: 'ENOENT', syscall: 'spawn' })

describe.each([
  ['with ripgrep', withRipgrep],
  ['without ripgrep', without],
] as const)('a search %s', (_name, searches) => {
  const search = (pattern: string, input: Record<string, unknown> = {}): Promise<string> =>
    outputOf(searchTool(stage.files, searches()), { pattern, ...input })
  const glob = (pattern: string, input: Record<string, unknown> = {}): Promise<string> =>
    outputOf(globTool(stage.files, searches()), { pattern, ...input })

  beforeEach(() => {
    stage.put('.gitignore', 'build/\n*.log\n!keep.log\n/top.txt\n')
    stage.put('src/a.ts', 'let Needle = 1\nlet other = 2\nlet needle = 3\n')
    stage.put('src/b.md', 'a needle\r\nno\r\n')
    stage.put('src/deep/c.ts', 'none\n')
    stage.put('src/deep/.gitignore', 'secret*\n')
    stage.put('src/deep/secret.ts', 'needle\n')
    stage.put('build/d.ts', 'needle\n')
    stage.put('x.log', 'needle\n')
    stage.put('keep.log', 'needle\n')
    stage.put('top.txt', 'needle\n')
    stage.put('src/top.txt', 'needle\n')
    stage.put('.hidden/e.ts', 'needle\n')
    stage.put('node_modules/f.ts', 'needle\n')
    stage.put('.git/config', 'needle\n')
    stage.put('binary.ts', Buffer.from('needle\0needle'))
    symlinkSync(stage.home, join(stage.cwd, 'up'))
  })

  it('answers path:line:text from the working directory, without what is hidden or ignored', async () => {
    expect(await search('needle')).toBe(
      ['keep.log:1:needle', 'src/a.ts:3:let needle = 3', 'src/b.md:1:a needle', 'src/top.txt:1:needle'].join('\n'),
    )
    expect(await search('no such thing')).toBe('Nothing found.')
  })

  it('looks at hidden and ignored files where it is told to, and never into .git', async () => {
    expect(await search('^needle', { hidden: true, mode: 'files' })).toBe('.hidden/e.ts\nkeep.log\nsrc/top.txt')
    expect(await search('^needle', { ignored: true, mode: 'files' })).toBe(
      'build/d.ts\nkeep.log\nnode_modules/f.ts\nsrc/deep/secret.ts\nsrc/top.txt\ntop.txt\nx.log',
    )
    expect(await search('needle', { hidden: true, ignored: true, mode: 'files' })).not.toContain('.git/')
    expect(await search('needle', { path: 'build' })).toBe('build/d.ts:1:needle')
  })

  it('takes a directory or a file to look in, and globs that count from there', async () => {
    expect(await search('needle', { path: 'src', glob: '*.md' })).toBe('src/b.md:1:a needle')
    expect(await search('needle', { path: 'src/a.ts' })).toBe('src/a.ts:3:let needle = 3')
    expect(await search('e', { path: 'src', glob: 'deep/*.ts', mode: 'files' })).toContain('src/deep/c.ts')
    expect(await search('needle', { glob: '!src/**', mode: 'files' })).toBe('keep.log')
    expect(await search('needle', { glob: '*.{md,log}', mode: 'files' })).toContain('src/b.md')
    expect(await search('needle', { path: 'src', type: 'ts', mode: 'files' })).toBe('src/a.ts')
    expect(await search('needle', { path: 'src', type: 'md', mode: 'files' })).toBe('src/b.md')
    await expect(search('x', { path: 'scr' })).rejects.toThrow('Did you mean src?')
    await expect(search('x', { type: 'klingon' })).rejects.toThrow(/no type "klingon"/)
    await expect(search('x', { path: 'up' })).rejects.toThrow('path_outside_scope')
  })

  it('tells case apart unless it is told not to', async () => {
    const paths = { path: 'src/a.ts' }
    expect(await search('needle', { ...paths, case: 'insensitive' })).toContain('src/a.ts:1:let Needle')
    expect(await search('needle', { ...paths, case: 'smart' })).toContain('src/a.ts:1:let Needle')
    expect(await search('Needle', { ...paths, case: 'smart' })).toBe('src/a.ts:1:let Needle = 1')
    expect(await search('\\Sneedle|needle\\b', { ...paths, case: 'smart' })).toContain('src/a.ts:1:')
  })

  it('shows lines around a match, each once, and divides what does not belong together', async () => {
    stage.put('ctx.txt', 'a\nb\nhit 1\nc\nhit 2\nd\ne\nf\ng\nhit 3\n')
    expect(await search('hit', { path: 'ctx.txt', before: 1, after: 1 })).toBe(
      [
        'ctx.txt-2-b',
        'ctx.txt:3:hit 1',
        'ctx.txt-4-c',
        'ctx.txt:5:hit 2',
        'ctx.txt-6-d',
        '--',
        'ctx.txt-9-g',
        'ctx.txt:10:hit 3',
      ].join('\n'),
    )
    expect(await search('hit [13]', { path: 'ctx.txt', context: 1, after: 0 })).toBe(
      ['ctx.txt-2-b', 'ctx.txt:3:hit 1', '--', 'ctx.txt-9-g', 'ctx.txt:10:hit 3'].join('\n'),
    )
  })

  it('counts, and finds what spans lines', async () => {
    expect(await search('let', { mode: 'count' })).toBe('src/a.ts:3')
    expect(await search('Needle.*needle', { path: 'src' })).toBe('Nothing found.')
    expect(await search('other.*needle', { path: 'src', multiline: true })).toBe(
      'src/a.ts:2:let other = 2\nsrc/a.ts:3:let needle = 3',
    )
    expect(await search('no$', { path: 'src/b.md' })).toBe('src/b.md:2:no')
  })

  it('shows a page at a time, and says how to go on', async () => {
    stage.put('many.txt', Array.from({ length: 450 }, (_, at) => `line ${at}\n`).join(''))
    const first = await search('line', { path: 'many.txt' })
    expect(first).toContain('many.txt:200:line 199\n[… matches 1–200 are shown, more follow: go on with offset: 200')
    const last = await search('line', { path: 'many.txt', offset: 400 })
    expect(last.split('\n')).toHaveLength(50)
    expect(last).not.toContain('more follow')
    expect(await search('line', { path: 'many.txt', offset: 450 })).toBe('There are no more than 450 matches.')
    expect(await search('needle', { limit: 1, offset: 1, mode: 'files' })).toMatch(/^src\/a\.ts\n\[… files 2–2/)
  })

  it('cuts a long line around what was found in it', async () => {
    stage.put('min.js', `${'\u00fc'.repeat(5000)}target${'y'.repeat(5000)}\n`)
    const shown = await search('target', { path: 'min.js' })
    expect(shown.length).toBeLessThan(350)
    expect(shown).toMatch(/^min\.js:1:\[…\] ü+targety+ \[…\]$/)
  })

  it('takes plain text, and teaches who gives no expression', async () => {
    stage.put('code.ts', 'call(a[0])\n')
    expect(await search('call(a[0]', { fixed: true })).toBe('code.ts:1:call(a[0])')
    await expect(search('call(a[0')).rejects.toThrow(/no regular expression.*[\s\S]*set "fixed"/)
    await expect(search('')).rejects.toThrow('use glob')
    await expect(search('x', { mode: 'words' })).rejects.toThrow('"mode" must be lines or files or count, not "words"')
    await expect(search('x', { glob: '../*.ts' })).rejects.toThrow('give the directory as "path"')
    expect(await search('(?<=other )=', { path: 'src' })).toBe('src/a.ts:2:let other = 2')
  })

  it('finds files by name, the last changed first', async () => {
    utimesSync(join(stage.cwd, 'src/a.ts'), 1000, 1000)
    utimesSync(join(stage.cwd, 'src/deep/c.ts'), 2000, 2000)
    expect(await glob('*.ts', { path: 'src' })).toBe('src/deep/secret.ts\nsrc/deep/c.ts\nsrc/a.ts')
    expect(await glob('src/*.ts')).toBe('src/a.ts')
    expect(await glob('src/**/*.ts', { limit: 1 })).toMatch(/^src\/deep\/secret\.ts\n\[… files 1–1 are shown/)
    expect(await glob('**/*.rs')).toBe('Nothing found.')
    await expect(glob('*.ts', { path: 'src/a.ts' })).rejects.toThrow('"path" is a file')
  })

  it('looks through the file that holds the whole of a long output', async () => {
    const log = join(stage.home, 'scratch/1-c1.log')
    writeFileSync(log, 'one\nneedle\n')
    expect(await search('needle', { path: log })).toBe(`${log}:2:needle`)
  })

  it('stops when it is called off', async () => {
    const tool = searchTool(stage.files, searches())
    await expect(runTool(tool, { pattern: 'x' }, AbortSignal.abort())).rejects.toThrow(/abort/)
  })
})

describe('the walk that stands in for ripgrep', () => {
  const search = (hidden: string[]): Promise<string> =>
    outputOf(searchTool(stage.files, without(hidden)), { pattern: 'needle', hidden: true, ignored: true })

  it('does not see what is hidden from the node, by whichever name', async () => {
    stage.put('open.txt', 'needle')
    const secret = stage.put('data/key.txt', 'needle')
    expect(await search([secret])).toBe('open.txt:1:needle')
    expect(await search([join(stage.cwd, 'data')])).toBe('open.txt:1:needle')
  })

  it('follows no link, whatever it is named', async () => {
    mkdirSync(join(stage.home, 'outside'))
    writeFileSync(join(stage.home, 'outside/a.txt'), 'needle')
    symlinkSync(join(stage.home, 'outside'), join(stage.cwd, 'in'))
    symlinkSync(join(stage.home, 'outside/a.txt'), join(stage.cwd, 'b.txt'))
    expect(await search([])).toBe('Nothing found.')
    // Not even for what is to be left out: what stands outside would show by what is missing here.
    writeFileSync(join(stage.home, 'outside/rules'), '*.md\n')
    symlinkSync(join(stage.home, 'outside/rules'), join(stage.cwd, '.gitignore'))
    stage.put('c.md', 'needle')
    expect(await outputOf(searchTool(stage.files, without()), { pattern: 'needle' })).toBe('c.md:1:needle')
  })
})

describe('a glob', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'deep/er/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**', 'src/b/a.ts', true],
    ['**/test/**', 'a/test/b', true],
    ['/top', 'top', true],
    ['/top', 'sub/top', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['[!a]b', 'cb', true],
    ['[!a]b', 'ab', false],
    ['[]a]b', ']b', true],
    ['*.{ts,js{,x}}', 'a.jsx', true],
    ['*.{ts,js{,x}}', 'a.js', true],
    ['*.{ts', '.{ts', true],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a+(b).txt', 'a+(b).txt', true],
  ])('%s for %s is %s', (glob, path, expected) => {
    expect(globExpression(glob).test(path)).toBe(expected)
  })
})
