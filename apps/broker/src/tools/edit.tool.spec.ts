import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { outputOf, setToolStage } from '../../../../test/support/tool-stage.js'
import { editTool } from './edit.tool.js'
import { diffOf } from './text.diff.js'

const stage = setToolStage()
const edit = (input: Record<string, unknown>): Promise<string> =>
  outputOf(editTool(stage.files, stage.seen), { path: 'a.ts', ...input })
const failing = (old_text: string, input: object = {}) => expect(edit({ old_text, new_text: 'new', ...input })).rejects

describe('an edit', () => {
  it('replaces the one place where the text occurs, and answers what changed with the lines around it', async () => {
    stage.put('a.ts', 'one\ntwo\nthree\nconst a = 1\nfive\nsix\nseven\neight\n')
    expect(await edit({ old_text: 'a = 1', new_text: 'b = $& 2\n// more' })).toBe(
      [
        'Changed a.ts (+2 −1 lines):',
        '     1   one',
        '     2   two',
        '     3   three',
        '     4 - const a = 1',
        '     4 + const b = $& 2',
        '     5 + // more',
        '     6   five',
        '     7   six',
        '     8   seven',
      ].join('\n'),
    )
    expect(stage.get('a.ts')).toBe('one\ntwo\nthree\nconst b = $& 2\n// more\nfive\nsix\nseven\neight\n')
  })

  it('changes nothing when the text occurs several times, and says where', async () => {
    stage.put('a.ts', 'x\ny\nx\nx\n')
    await failing('x').toThrow('"old_text" occurs 3 times in a.ts, at lines 1, 3, 4; nothing was changed')
    expect(stage.get('a.ts')).toBe('x\ny\nx\nx\n')
    expect(await edit({ old_text: 'x', new_text: 'z', replace_all: true })).toContain('(+3 −3 lines)')
    expect(stage.get('a.ts')).toBe('z\ny\nz\nz\n')
  })

  it('keeps the mode of the file, its byte order mark, and a change that is large short', async () => {
    const path = stage.put('a.ts', `\ufeff${'old\n'.repeat(500)}`)
    chmodSync(path, 0o754)
    const said = await edit({ old_text: 'old', new_text: 'new', replace_all: true })
    expect(said.split('\n').length).toBeLessThan(65)
    expect(said).toMatch(/more lines of this change …\]$/)
    expect(stage.get('a.ts')).toBe(`\ufeff${'new\n'.repeat(500)}`)
    expect(statSync(path).mode & 0o777).toBe(0o754)
  })

  it('keeps the line ends of a file, whichever way the model writes them', async () => {
    stage.put('a.ts', 'one\r\ntwo\r\nthree\r\n')
    await edit({ old_text: 'one\ntwo', new_text: 'one\n2\n2b' })
    expect(stage.get('a.ts')).toBe('one\r\n2\r\n2b\r\nthree\r\n')
    await edit({ old_text: 'three', new_text: 'three\nfour' })
    expect(stage.get('a.ts')).toBe('one\r\n2\r\n2b\r\nthree\r\nfour\r\n')
    stage.put('a.ts', 'one\ntwo\n')
    await edit({ old_text: 'one\r\ntwo', new_text: 'one\r\n2' })
    expect(stage.get('a.ts')).toBe('one\n2\n')
    stage.put('a.ts', 'one\r\ntwo\nthree\n')
    await edit({ old_text: 'two\nthree', new_text: '2\n3' })
    expect(stage.get('a.ts')).toBe('one\r\n2\n3\n')
  })
})

describe('several edits in one call', () => {
  it('are made in order, each on the result of the one before', async () => {
    stage.put('a.ts', 'one\ntwo\n')
    const edits = [
      { old_text: 'one', new_text: 'two' },
      { old_text: 'two\ntwo', new_text: 'done' },
    ]
    expect(await edit({ edits })).toContain('(+1 −2 lines)')
    expect(stage.get('a.ts')).toBe('done\n')
    await edit({ edits: JSON.stringify([{ old_text: 'done', new_text: 'sent as text' }]) })
    expect(stage.get('a.ts')).toBe('sent as text\n')
  })

  it('are all made or none, and the one that fails is named', async () => {
    stage.put('a.ts', 'one\ntwo\n')
    const good = { old_text: 'one', new_text: '1' }
    await expect(edit({ edits: [good, { old_text: 'three', new_text: '3' }] })).rejects.toThrow(
      'edits[1]: "old_text" does not occur in a.ts; nothing was changed.',
    )
    await expect(edit({ edits: [good, { old: 'x' }] })).rejects.toThrow('edits[1] has no "old"; it takes: old_text')
    await expect(edit({ edits: [good, { old_text: 'x' }] })).rejects.toThrow('edits[1]: "new_text" must be a string')
    await expect(edit({ edits: [good, 'x'] })).rejects.toThrow('edits[1] must be an object')
    await expect(edit({ edits: [] })).rejects.toThrow('"edits" must hold 1 to 100 entries')
    await expect(edit({ edits: 'x' })).rejects.toThrow('"edits" must be a list, not text')
    await expect(edit({ edits: [good], ...good })).rejects.toThrow('not both')
    await expect(edit({ edits: [good, { old_text: '1', new_text: 'one' }] })).rejects.toThrow('undo each other')
    expect(stage.get('a.ts')).toBe('one\ntwo\n')
  })
})

describe('a text that is not found', () => {
  it('but for its white space is shown beside what the file has', async () => {
    stage.put('a.ts', 'function f() {\n\treturn 1\n\treturn 2\n}\n')
    await failing('{\n  return 1\n  return 2\n}').toThrow(/does not occur/)
    await failing('  return 1\n  return 2').toThrow(
      'Lines 2–3 are the same but for white space. The first that differs is line 2; the file has\n→return 1\nand "old_text" has\n··return 1',
    )
  })

  it('but for its quotes, or with line numbers or escapes in it, is told so', async () => {
    stage.put('a.ts', 'say("hello")\nnext\n')
    await failing('say(“hello”)').toThrow('the same but for quotes or dashes')
    await failing('     1\tsay("hello")').toThrow('line numbers that read shows')
    await failing('say(\\"hello\\")\\nnext').toThrow('as two characters')
  })

  it('names the nearest line, or says that nothing is like it', async () => {
    stage.put('a.ts', 'const answer = 41\nother\n')
    await failing('const answer = 42').toThrow('The nearest is line 1:\nconst answer = 41')
    await failing('const answer = 41\nsomething else').toThrow('Its line 1 is in the file, but what stands around it')
    await failing('import zebra from "zoo"').toThrow('Nothing in the file is like it')
  })

  it('is refused when it is empty or nothing would change', async () => {
    stage.put('a.ts', 'x\n')
    await failing('').toThrow('"old_text" is empty: use write')
    await failing('new').toThrow('are the same')
    await failing('x', { path: 'b.ts' }).toThrow('b.ts does not exist')
  })
})

describe('a file that can not be edited', () => {
  // Read, then changed by a formatter, then written back as it was read: what the formatter did was lost.
  it('since something else changed it in the middle keeps that change', async () => {
    const path = stage.put('a.ts', 'old\n')
    const write = stage.files.write.bind(stage.files)
    stage.files.write = (...given) => {
      writeFileSync(path, 'formatted old\n')
      return write(...given)
    }
    await failing('old').toThrow('a.ts was changed by something else meanwhile; nothing was changed')
    expect(stage.get('a.ts')).toBe('formatted old\n')
  })

  // It was read with replacement characters and written back with them: every other umlaut of the file was lost.
  it('since it is not UTF-8 stays as it is', async () => {
    const bytes = Buffer.from('Gr\u00fc\u00dfe\nold\n', 'latin1')
    stage.put('a.ts', bytes)
    await failing('old').toThrow(/not UTF-8.*nothing was changed/)
    expect(Buffer.from(stage.get('a.ts'), 'utf8')).toEqual(Buffer.from(bytes.toString('utf8')))
    expect(statSync(join(stage.cwd, 'a.ts')).size).toBe(bytes.length)
  })
})

describe('what is told of a change', () => {
  /** The new text, from the old one and what the difference says. */
  const applied = (before: string, after: string): string => {
    const all = { before: before.split('\n'), after: after.split('\n') }
    const { text } = diffOf(before, after)
    for (const line of text.split('\n')) {
      const [, number, sign, said] = /^ *(\d+) ([+ -])(?: (.*))?$/.exec(line) ?? []
      if (!number) continue
      const from = sign === '-' ? all.before : all.after
      expect(from[Number(number) - 1]).toBe(said ?? '')
    }
    return text
  }

  it('names each line by its number, and counts what came and went', () => {
    const line = fc.constantFrom('a', 'b', 'c', 'd')
    const lines = fc.array(line, { maxLength: 12 })
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        const [before, after] = [a.join('\n'), b.join('\n')]
        applied(before, after)
        const { added, removed } = diffOf(before, after)
        expect(added - removed).toBe(after.split('\n').length - before.split('\n').length)
        if (before === after) expect(added).toBe(0)
      }),
    )
  })

  it('is quick for texts that have nothing in common', () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `old ${at}`).join('\n')
    const after = Array.from({ length: 20_000 }, (_, at) => `new ${at}`).join('\n')
    expect(diffOf(before, after)).toMatchObject({ added: 20_000, removed: 20_000 })
  })
})
