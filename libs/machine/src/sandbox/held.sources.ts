import { closeSync, constants, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs'

const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const refusal = (message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code: 'EINVAL', syscall: 'sandbox' })

const moved = (path: string): NodeJS.ErrnoException => refusal(`${path} is a link by now, or lies behind one`)

/**
 * What a sandbox is to show of places where programs may write. Whoever may write above such a place can put a link there,
 * to be shown what the link leads to: so each is opened once, looked at, and given to bubblewrap as it was opened.
 */
export class HeldSources {
  readonly channels: number[] = []

  /**
   * @param given whether bubblewrap takes open files; else a path is looked at, and may change before it is mounted
   * @param first number of the first open file as the child sees it
   */
  constructor(
    private readonly given: boolean,
    private readonly first: number,
  ) {}

  /**
   * Answers the child's number of what was opened; nothing where it must go by the path.
   *
   * @throws Error with the syscall `sandbox` when the path leads somewhere else by now.
   */
  readonly hold = (path: string): number | undefined => {
    if (!this.given) return looked(path)
    const channel = opened(path)
    if (channel === undefined) return undefined
    this.channels.push(channel)
    if (readlinkSync(`/proc/self/fd/${channel}`) !== path) throw moved(path)
    return this.first + this.channels.length - 1
  }

  /** Once the child was started, or was not. */
  close(): void {
    for (const channel of this.channels.splice(0)) closeSync(channel)
  }
}

const looked = (path: string): undefined => {
  let real: string
  try {
    real = realpathSync.native(path)
  } catch {
    // Gone, or closed to this account: bubblewrap says so.
    return
  }
  if (real !== path) throw moved(path)
}

const opened = (path: string): number | undefined => {
  try {
    return openSync(path, flags)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw moved(path)
    // Another account's that only it may read. Our own is one that a program has closed to gain time.
    if (code === 'EACCES' && lstatSync(path).uid !== process.getuid?.()) return looked(path)
    throw refusal(`${path} can't be opened: ${code}`)
  }
}
