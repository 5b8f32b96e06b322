import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, monotonic } from '#machine/clock.js'
import { ConfinedFiles } from '#machine/files/confined.files.js'
import { FileError } from '#machine/files/file.error.js'
import { type FileView, machineView } from '#machine/files/file.view.js'
import { bytesOf } from '#machine/files/path.bytes.js'
import { Random } from '../chaos/random.js'
import { Arena, attempt, canary, unlisted } from './files.arena.js'
import { linkTargetOf, machinePaths, pathOf, plantedNameOf } from './files.path.js'

export interface FilesFuzzOptions {
  seed: number
  /** Tries. */
  count: number
  /** Where the test sources lie. */
  swapper: string
  say: (line: string) => void
}

export interface FilesFuzzResult {
  tries: number
  escapes: string[]
  hangs: string[]
  /** What ended in something else than an answer or a FileError. */
  failures: string[]
  summary: string
}

/** A try that takes longer hangs (ms). */
const patience = 10_000
const atOnce = 8
/** After so many tries the canaries are looked at. */
const lookEvery = 500
/** Then a tree has been attacked so much that there is little left of it. */
const roundLength = 1000

interface Try {
  readonly number: number
  readonly path: Buffer
  readonly what: string
  run(): Promise<Found>
}

interface Found {
  readonly content?: Buffer
  readonly names?: readonly string[]
  readonly path?: string
}

const shown = ({ number, what, path }: Try): string =>
  `${number}: ${what} ${JSON.stringify(path.toString('latin1').slice(0, 300))}`

/** The same tries for the same seed; how they meet with the swapper differs. */
class Attack {
  readonly arena = new Arena()
  readonly #files = new ConfinedFiles(this.arena.view)
  readonly #machine = new ConfinedFiles(machineView)

  tryOf(seed: number, number: number): Try {
    const random = new Random(seed, number)
    if (random.next() < 0.3) this.#plant(random)
    const path = pathOf(random, this.arena)
    const whole = random.next() < 0.06
    const { what, run } = whole ? this.#onMachine(path, random) : this.#inView(path, random)
    return { number, path, what, run }
  }

  /** Something new in the way. */
  #plant(random: Random): void {
    const name = plantedNameOf(random)
    const target = linkTargetOf(random, this.arena)
    const moved = plantedNameOf(random)
    const ways: ((directory: string) => void)[] = [
      (directory) => symlinkSync(target, join(directory, name)),
      (directory) => symlinkSync(target, join(directory, name)),
      (directory) => mkdirSync(join(directory, name)),
      (directory) => renameSync(join(directory, name), join(directory, moved)),
      (directory) => unlinkSync(join(directory, name)),
      (directory) => rmdirSync(join(directory, name)),
    ]
    const way = random.pick(ways)
    this.arena.within(random.pick(['.', 'dir', 'swap']), (directory) => attempt(() => way(directory)))
  }

  #inView(path: Buffer, random: Random): Pick<Try, 'what' | 'run'> {
    const files = this.#files
    const kind = random.next()
    if (kind < 0.4) return { what: 'read', run: () => readBy(files, path) }
    if (kind < 0.6) return { what: 'list', run: () => listBy(files, path) }
    if (kind < 0.7) return { what: 'existing', run: async () => ({ path: await files.existing(path) }) }
    const options = {
      limit: 64,
      parents: random.next() < 0.4,
      createOnly: random.next() < 0.2,
      ...(random.next() < 0.2 && { ifMatch: '*' }),
    }
    return {
      what: 'write',
      run: async () => ({ path: (await files.write(path, Buffer.from('fuzz'), options)).path }),
    }
  }

  /** As the owner, reading alone: all of the machine may be read, but what could block or is the kernel's own. */
  #onMachine(path: Buffer, random: Random): Pick<Try, 'what' | 'run'> {
    const absolute =
      path[0] === 0x2f && random.next() < 0.5 ? path : Buffer.concat([Buffer.from(random.pick(machinePaths)), path])
    const run = async (): Promise<Found> => {
      const { path: found } = await (random.next() < 0.5
        ? this.#machine.read(absolute, { offset: 0, limit: 4096, encoding: 'auto' })
        : this.#machine.list(absolute, { limit: 10 }))
      return /^\/(proc|sys)(\/|$)/.test(found) ? { path: `kernel ${found}` } : {}
    }
    return { what: 'owner reads', run }
  }
}

const readBy = async (files: ConfinedFiles, path: Buffer): Promise<Found> => {
  const { content, path: found } = await files.read(path, { offset: 0, limit: 4096, encoding: 'auto' })
  return { content: 'text' in content ? Buffer.from(content.text) : content.bytes, path: found }
}

const listBy = async (files: ConfinedFiles, path: Buffer): Promise<Found> => {
  const { entries, path: found } = await files.list(path, { limit: 100 })
  return { names: entries.map(({ name }) => name), path: found }
}

/** What speaks against an answer. */
const escapeOf = ({ content, names, path }: Found, { roots, hidden }: FileView): string | undefined => {
  if (content?.includes(canary)) return `read ${content.toString().slice(0, 80)}`
  const seen = names?.find((name) => name === unlisted)
  if (seen) return `listed ${seen}`
  if (path === undefined) return undefined
  const within = (outer: string): boolean => bytesOf(path) === outer || bytesOf(path).startsWith(`${outer}/`)
  const root = roots.filter(({ at }) => within(at)).sort((a, b) => b.at.length - a.at.length)[0]
  if (!root) return `answered ${path}`
  return hidden.some((one) => within(one) && one.length >= root.at.length)
    ? `answered ${path}, which is hidden`
    : undefined
}

const openDescriptors = (): number => readdirSync('/proc/self/fd').length

/** What a run has found so far. */
class Findings {
  tries = 0
  readonly escapes: string[] = []
  readonly hangs: string[] = []
  readonly failures: string[] = []
  readonly codes = new Map<string, number>()
  kinds: readonly string[] = []

  get isEnough(): boolean {
    return this.escapes.length > 20 || this.hangs.length > 0 || this.failures.length > 20
  }

  /** Carries out a try and judges what came of it. */
  async perform(one: Try, view: FileView): Promise<void> {
    let callOff: () => void = () => undefined
    const late = new Promise<'late'>((resolve) => {
      callOff = after(patience, () => resolve('late'))
    })
    try {
      const found = await Promise.race([one.run(), late])
      if (found === 'late') this.hangs.push(shown(one))
      else {
        this.#count(`${one.what} done`)
        const wrong = escapeOf(found, view)
        if (wrong) this.escapes.push(`${shown(one)}: ${wrong}`)
      }
    } catch (error) {
      if (error instanceof FileError) this.#count(error.code)
      else this.failures.push(`${shown(one)}: ${error}`)
    } finally {
      this.tries += 1
      callOff()
    }
  }

  #count(code: string): void {
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1)
  }

  summary(seed: number, took: number): string {
    const { tries, escapes, hangs, failures, kinds } = this
    const counts = [...this.codes].sort((a, b) => b[1] - a[1]).map(([code, number]) => `${code} ${number}`)
    return [
      `files fuzz: seed ${seed}, ${tries} tries in ${Math.round(took / 1000)} s, with ${kinds.join(', ') || 'no special files'}`,
      `  ${counts.join(', ')}`,
      `  ${escapes.length} escapes, ${hangs.length} hangs, ${failures.length} other failures`,
      ...[...escapes, ...hangs, ...failures].slice(0, 40).map((line) => `  ${line}`),
    ].join('\n')
  }
}

/** Tries in a tree of their own, with a process beside them that swaps what paths lead through. */
const runRound = async (findings: Findings, options: FilesFuzzOptions & { from: number }): Promise<void> => {
  const { seed, from, count, swapper } = options
  const attack = new Attack()
  const { arena } = attack
  findings.kinds = arena.kinds
  const child = spawn(process.execPath, [swapper, arena.work, arena.outside], { stdio: 'ignore' })
  const before = arena.digest()
  try {
    for (let number = from; number < from + count && !findings.isEnough; ) {
      const batch: Promise<void>[] = []
      for (; batch.length < atOnce && number < from + count; number += 1)
        batch.push(findings.perform(attack.tryOf(seed, number), arena.view))
      await Promise.all(batch)
      if (findings.tries % lookEvery >= atOnce && number < from + count) continue
      if (arena.digest() !== before) findings.escapes.push(`something outside was changed before try ${number}`)
      arena.refresh()
    }
  } finally {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    arena.remove()
  }
}

/** Attacks the confinement of files. */
export const runFilesFuzz = async (options: FilesFuzzOptions): Promise<FilesFuzzResult> => {
  const { seed, count, say } = options
  const findings = new Findings()
  const began = monotonic()
  const descriptors = openDescriptors()
  for (let from = 1; from <= count && !findings.isEnough; from += roundLength) {
    await runRound(findings, { ...options, from, count: Math.min(roundLength, count - from + 1) })
    if (findings.tries % 10_000 === 0) say(`files fuzz: ${findings.tries} tries …`)
  }
  const left = openDescriptors() - descriptors
  if (left > 0) findings.failures.push(`${left} descriptors were left open`)
  const { tries, escapes, hangs, failures } = findings
  return { tries, escapes, hangs, failures, summary: findings.summary(seed, monotonic() - began) }
}
