import { describe, expect, it } from '@jest/globals'
import { Output } from './output.js'
import { brief, table } from './table.js'

const terminal = (isTTY: boolean) => {
  const written: string[] = []
  const stream = { isTTY, write: (text: string) => written.push(text), on: () => stream }
  return { stream: stream as unknown as NodeJS.WriteStream, written }
}

describe('what agents and programs say', () => {
  it('does not steer the terminal, in results or in remarks', () => {
    const [out, err] = [terminal(true), terminal(true)]
    const output = new Output(out.stream, err.stream, {})
    output.line('a\x1b]0;title\x07b\x1b[31mred\x1b[0m\x1b[2Jc')
    output.note('error: \x1b[2Jgone')
    expect(out.written).toEqual(['a]0;titleb\x1b[31mred\x1b[0m[2Jc\n'])
    expect(err.written).toEqual(['error: [2Jgone\n'])
  })

  it('does not turn the writing around either, but in JSON', () => {
    const turned = 'a\u202egnp.exe\u202c \u2066b\u2069 \u05d0\u200e'
    const [out, err] = [terminal(true), terminal(true)]
    const output = new Output(out.stream, err.stream, {})
    output.line(turned)
    output.note(turned)
    output.json(turned)
    const plain = 'agnp.exe b \u05d0\u200e\n'
    expect([out.written, err.written]).toEqual([[plain, `${JSON.stringify(turned)}\n`], [plain]])
  })

  it('goes to a file or a pipe as it is', () => {
    const [out, err] = [terminal(false), terminal(false)]
    const output = new Output(out.stream, err.stream, {})
    output.line('a\x1b[2Jb')
    expect(out.written).toEqual(['a\x1b[2Jb\n'])
  })
})

describe('a table', () => {
  it('has its columns in line whatever the script', () => {
    expect(
      table(
        ['NAME', 'AGE'],
        [
          ['\u65e5\u672c\u8a9e', '1s'],
          ['e\u0301te\u0301', '2s'],
          ['\ud83d\ude80', '3s'],
        ],
      ),
    ).toBe('NAME    AGE\n\u65e5\u672c\u8a9e  1s\ne\u0301te\u0301     2s\n\ud83d\ude80      3s')
  })

  it('keeps a name with line ends in its row', () => {
    expect(table(['NAME'], [['new\nline\t']])).toBe('NAME\nnew\\nline\\t')
  })

  it('cuts a long name between characters', () => {
    expect(brief('x'.repeat(70))).toBe(`${'x'.repeat(59)}\u2026`)
    expect(brief('\ud83d\ude80'.repeat(4), 6)).toBe('\ud83d\ude80\ud83d\ude80\u2026')
    expect(brief('first\nsecond')).toBe('first')
  })
})

describe('a frame', () => {
  it('takes the place of the one before, cut to the screen, and steers nothing else', () => {
    const [out, err] = [terminal(true), terminal(true)]
    const screen = Object.assign(out.stream, { columns: 12, rows: 4 })
    const output = new Output(screen, err.stream, {})
    output.frame(['one', '\x1b[31mtwo of many letters\x1b[39m\x1b[2J', 'three', 'four'])
    output.frame(['five'])
    expect(out.written).toEqual(['one\n\x1b[31mtwo of man…\x1b[39m\n… 2 more l…\n', '\x1b[3A\x1b[Jfive\n'])
  })
})

describe('a status line', () => {
  const screen = (env: NodeJS.ProcessEnv = {}, isTTY = true) => {
    const [out, err] = [terminal(isTTY), terminal(isTTY)]
    return { output: new Output(Object.assign(out.stream, { columns: 12 }), err.stream, env), written: out.written }
  }

  it('stays below what is written, cut to the screen, and never inside of a line', () => {
    const { output, written } = screen()
    output.status('at work on something')
    output.write('half a ')
    output.status('still at it')
    output.write('line\n')
    output.status('')
    expect(written).toEqual(['at work on…', '\r\x1b[2K', 'half a ', 'line\n', 'still at it', '\r\x1b[2K'])
  })

  it('is for terminals that can take it back', () => {
    for (const { output, written } of [screen({}, false), screen({ TERM: 'dumb' })]) {
      output.status('at work')
      output.line('done')
      expect(written).toEqual(['done\n'])
    }
  })
})
