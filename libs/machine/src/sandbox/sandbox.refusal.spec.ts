import { describe, expect, it } from '@jest/globals'
import { LastWords, sandboxRefusal } from './sandbox.refusal.js'

describe('what bubblewrap says of a failure', () => {
  it.each([
    ['bwrap: execvp nope: No such file or directory\n', { code: 'ENOENT', syscall: 'spawn' }],
    ['bwrap: execvp /etc/passwd: Permission denied\n', { code: 'EACCES', syscall: 'spawn' }],
    ['bwrap: execvp /a/b: Not a directory\n', { code: 'ENOTDIR', syscall: 'spawn' }],
    ['bwrap: execvp x: File name too long\n', { code: 'ENAMETOOLONG', syscall: 'spawn' }],
    ['bwrap: execvp x: Filename too long\n', { code: 'ENAMETOOLONG', syscall: 'spawn' }],
    ['bwrap: execvp true: Argument list too long\n', { code: 'E2BIG', syscall: 'spawn' }],
    ["bwrap: Can't chdir to /srv: Permission denied\n", { syscall: 'cwd', message: 'EACCES' }],
    ["bwrap: Can't find source path /srv: No such file or directory\n", { syscall: 'cwd' }],
    ["bwrap: Can't find source path /srv/a b: No such file or directory\n", { code: 'ENOENT', syscall: 'sandbox' }],
    ['bwrap: No permissions to create new namespace\n', { code: 'ENOTSUP', syscall: 'sandbox' }],
    ['', { code: 'ENOTSUP', syscall: 'sandbox' }],
  ])('%j is told as the system tells it', (said, refusal) => {
    expect(sandboxRefusal(said, '/srv')).toMatchObject(refusal)
  })

  it('is told by its last line, with what was missing', () => {
    const { message } = sandboxRefusal("bwrap: warning\nbwrap: Can't find source path /srv/a: No such file", '/srv')
    expect(message).toContain('/srv/a')
    expect(message).not.toContain('bwrap')
  })
})

describe('the standard error of a program in a sandbox', () => {
  const heard = (...pieces: string[]): { words: LastWords; said: string[] } => {
    const said: string[] = []
    const words = new LastWords((chunk) => said.push(chunk.toString()))
    for (const piece of pieces) words.add(Buffer.from(piece))
    return { words, said }
  }

  it('is heard at once', () => {
    expect(heard('ready', '\n').said).toEqual(['ready', '\n'])
    expect(heard('b', 'ad\n', 'more').said).toEqual(['bad\n', 'more'])
  })

  it("is held while it may be bubblewrap's own, and heard when it was not", () => {
    const { words, said } = heard('bw', 'rap: hm')
    expect(said).toEqual([])
    expect(words.text).toBe('bwrap: hm')
    words.release()
    expect(said).toEqual(['bwrap: hm'])
    words.add(Buffer.from(' more'))
    expect(said).toEqual(['bwrap: hm', ' more'])
  })

  it('is never held beyond what bubblewrap says', () => {
    expect(heard(`bwrap: ${'x'.repeat(9000)}`).said).toHaveLength(1)
  })
})
