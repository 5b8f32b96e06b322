import { constants } from 'node:os'

/** More than this it never says in a line (characters). */
const longest = 4096

/**
 * What bubblewrap tells of a sandbox on the channel that it was given for that, a JSON document a line. The sandbox's init
 * has the channel too, so a program that got hold of that may write there: it can lie about its own end, and no more.
 */
export class SandboxStatus {
  /** The sandbox's init as this process sees it: its death is the end of all that runs there. */
  init: number | undefined
  /** Exit code of the program; absent unless the program was started and its end was seen. */
  code: number | undefined
  #text = ''
  #onInit: (() => void) | undefined
  /** Resolves when the init is known; never, when bubblewrap fails before. */
  readonly known = new Promise<void>((resolve) => {
    this.#onInit = resolve
  })

  add(chunk: Buffer): void {
    const lines = (this.#text + chunk.toString('latin1')).split('\n')
    this.#text = lines.pop()!.slice(-longest)
    for (const line of lines) this.#take(documentOf(line))
  }

  #take(facts: Record<string, unknown>): void {
    if (typeof facts['exit-code'] === 'number') this.code = facts['exit-code']
    // It was told before the program began.
    if (typeof facts['child-pid'] !== 'number' || this.init !== undefined) return
    this.init = facts['child-pid']
    this.#onInit?.()
  }
}

const documentOf = (line: string): Record<string, unknown> => {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>
  } catch {
    // Not bubblewrap's.
    return {}
  }
}

const names = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]))

/**
 * How a program in a sandbox ended. Its init tells a signal n as the code 128 + n, as shells do; a program that chooses
 * such a code itself can't be told from one that was killed.
 */
export const endOfCode = (code: number): { code: number | null; signal: NodeJS.Signals | null } => {
  const signal = code > 128 && code < 160 ? names.get(code - 128) : undefined
  return signal ? { code: null, signal } : { code, signal: null }
}
