/** What bubblewrap says of its own failures stands behind this on its standard error. */
const prefix = 'bwrap: '
/** More than this it never says (bytes). */
const longest = 8192

const codes: readonly (readonly [RegExp, string])[] = [
  [/no such file or directory$/i, 'ENOENT'],
  [/permission denied$/i, 'EACCES'],
  [/not a directory$/i, 'ENOTDIR'],
  [/(file ?name|name) too long$/i, 'ENAMETOOLONG'],
  [/argument list too long$/i, 'E2BIG'],
  [/exec format error$/i, 'ENOEXEC'],
  [/is a directory$/i, 'EISDIR'],
  [/too many levels of symbolic links$/i, 'ELOOP'],
  [/(cannot allocate memory|out of memory)$/i, 'ENOMEM'],
  [/resource temporarily unavailable$/i, 'EAGAIN'],
  [/no space left on device$/i, 'ENOSPC'],
]

/**
 * Why bubblewrap could not start a program, as the system's own refusals are: `syscall` is `spawn` when the program itself
 * was refused, `cwd` when its directory was, `sandbox` when the sandbox could not be made.
 */
export const sandboxRefusal = (said: string, cwd: string): NodeJS.ErrnoException => {
  const text = said.trim().split('\n').at(-1)!.replace(prefix, '')
  const code = codes.find(([pattern]) => pattern.test(text))?.[1] ?? 'ENOTSUP'
  if (text.startsWith('execvp ')) return refusal(`spawn ${code}`, code, 'spawn')
  if (text.startsWith("Can't chdir to ")) return refusal(code === 'ENOENT' ? 'it does not exist' : code, code, 'cwd')
  const source = /^Can't find source path (.*): /.exec(text)?.[1]
  if (source === cwd) return refusal('it does not exist', 'ENOENT', 'cwd')
  if (source) return refusal(`${source}, which the program is to see, does not exist (ENOENT)`, 'ENOENT', 'sandbox')
  return refusal(`no sandbox could be made for it: ${text || 'it ended without a word'}`, code, 'sandbox')
}

const refusal = (message: string, code: string, syscall: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code, syscall })

/**
 * Passes a standard error on, but for what may be bubblewrap's own last words: those are held until it is known whether
 * the program was started at all. A program that begins like them is heard a little later.
 */
export class LastWords {
  #held: Buffer | undefined = Buffer.alloc(0)

  constructor(private readonly tell: (chunk: Buffer) => void) {}

  add(chunk: Buffer): void {
    if (!this.#held) {
      this.tell(chunk)
      return
    }
    this.#held = Buffer.concat([this.#held, chunk])
    const begins = this.#held.subarray(0, prefix.length).toString('latin1')
    if (!prefix.startsWith(begins) || this.#held.length > longest) this.release()
  }

  /** They were the program's. */
  release(): void {
    const held = this.#held
    this.#held = undefined
    if (held?.length) this.tell(held)
  }

  get text(): string {
    return this.#held?.toString('utf8') ?? ''
  }
}
