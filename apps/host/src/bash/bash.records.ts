import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'

type Answer = OutputOf<(typeof contract)['bash.run']>

/** What a repetition under a key must agree with. */
export interface RecordedCommand {
  readonly cwd: string
  /** A line for the shell, or a program with its arguments. */
  readonly command: string | readonly string[]
  readonly timeout: number
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** A file of the store. Without an answer the command was started, and how it ended is not known. */
interface BashRecord {
  readonly body: string
  /** Ms since the epoch. */
  readonly at: number
  readonly answer?: Answer
  /** It ended, and its answer had to make room. */
  readonly dropped?: true
}

export interface RecordBounds {
  /** How long a key is remembered (ms). */
  readonly keptFor: number
  /** Bytes of all answers; beyond it the oldest are dropped, their keys remembered. */
  readonly bytes: number
  /** Keys; beyond it the oldest are forgotten. */
  readonly keys: number
}

export const usualBounds: RecordBounds = { keptFor: 24 * 3600_000, bytes: 256 * 1024 * 1024, keys: 200_000 }

const sweepEvery = 3600_000
/** An answer that is not in place after this (ms) was cut off while it was written. */
const halfWritten = 60_000
/** A record without an answer is shorter than this (bytes): dropping one gains nothing. */
const shortest = 512

/** The right to run a command once under its key. Exactly one of its methods is called. */
export interface Claim {
  /** It was never started: the key is free again. */
  release(): Promise<void>
  /** It ended with this answer, which the key repeats from now on. */
  keep(answer: Answer): Promise<void>
  /** It was started, and nobody knows how far it came. */
  forsake(): void
}

/**
 * Which commands were started under which idempotency key, so that none is started twice: a file a key, on the disk
 * before the command starts. The answer is written beside it and renamed; should the machine lose that, the command
 * counts as one of unknown outcome.
 */
export class BashRecords {
  /** Commands under way, by the name of their file, with the hash of their body. */
  readonly #running = new Map<string, string>()
  #directory: FileHandle | undefined
  #bytes = 0
  #sweeping: Promise<void> | undefined
  #callOff: () => void = () => undefined

  /** @param path a private directory of its own */
  constructor(
    private readonly path: string,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly bounds: RecordBounds = usualBounds,
  ) {}

  async open(): Promise<void> {
    this.#directory = await open(this.path, 'r')
    await this.#sweep()
    const later = (): void => {
      this.#callOff = this.clock.after(sweepEvery, () => {
        this.#sweepSoon()
        later()
      })
    }
    later()
  }

  async close(): Promise<void> {
    this.#callOff()
    await this.#sweeping
    await this.#directory?.close()
    this.#directory = undefined
  }

  /**
   * Takes a principal's key for a command, durably, or answers what its first request was answered.
   *
   * @throws SvcError `idempotency_key_reused`, `idempotency_in_progress`, `outcome_unknown`, `storage_full`.
   */
  async claim(principal: string, key: string, command: RecordedCommand): Promise<Claim | Answer> {
    const [name, body] = [digest(`${principal}\0${key}`), bodyOf(command)]
    const running = this.#running.get(name)
    if (running !== undefined) {
      throw new SvcError(running === body ? 'idempotency_in_progress' : 'idempotency_key_reused')
    }
    this.#running.set(name, body)
    try {
      const first = await this.#create(name, body)
      if (!first) return this.#claimOf(name, body)
      this.#running.delete(name)
      return answerOf(first, body)
    } catch (error) {
      this.#running.delete(name)
      throw error
    }
  }

  #claimOf(name: string, body: string): Claim {
    const over = (): void => void this.#running.delete(name)
    return {
      forsake: over,
      release: async () => {
        await rm(join(this.path, name), { force: true })
        over()
      },
      keep: async (answer) => {
        await this.#write(name, { body, at: this.clock.now(), answer }).catch((err: unknown) =>
          this.log.warn({ err }, 'the answer of a command could not be kept for those who repeat their request'),
        )
        over()
        if (this.#bytes > this.bounds.bytes) this.#sweepSoon()
      },
    }
  }

  /** Makes the record, unless there is one that counts: that is answered instead. */
  async #create(name: string, body: string): Promise<BashRecord | undefined> {
    const path = join(this.path, name)
    const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return undefined
      throw storageError(error)
    })
    if (!file) {
      const first = await this.#read(path)
      if (first && this.clock.now() - first.at <= this.bounds.keptFor) return first
      await rm(path, { force: true })
      return this.#create(name, body)
    }
    try {
      await file.writeFile(JSON.stringify({ body, at: this.clock.now() } satisfies BashRecord))
      await file.sync()
      await this.#directory?.sync()
      return undefined
    } catch (error) {
      await rm(path, { force: true })
      throw storageError(error)
    } finally {
      await file.close()
    }
  }

  /** Undefined when it was removed meanwhile. What can't be read was cut off while it was written: nobody knows. */
  async #read(path: string): Promise<BashRecord | undefined> {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as BashRecord
    } catch {
      return { body: '', at: (await stat(path)).mtimeMs }
    }
  }

  async #write(name: string, record: BashRecord): Promise<void> {
    const [path, fresh] = [join(this.path, name), join(this.path, `${name}.new`)]
    const text = JSON.stringify(record)
    try {
      await writeFile(fresh, text, { mode: 0o600 })
      await rename(fresh, path)
      this.#bytes += text.length
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
  }

  #sweepSoon(): void {
    this.#sweeping ??= this.#sweep()
      .catch((err: unknown) => this.log.warn({ err }, 'old records of commands could not be swept'))
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  /** Removes what is too old and what a death left half written; then makes room from the oldest on. */
  async #sweep(): Promise<void> {
    const names = (await readdir(this.path)).filter((name) => !this.#running.has(name.replace(/\.new$/, '')))
    const found: { name: string; size: number; at: number }[] = []
    for (const name of names) {
      const path = join(this.path, name)
      const { size, mtimeMs: at } = await stat(path).catch(() => ({ size: 0, mtimeMs: Infinity }))
      const stale = this.clock.now() - at > (name.endsWith('.new') ? halfWritten : this.bounds.keptFor)
      if (stale) await rm(path, { force: true })
      else if (at !== Infinity) found.push({ name, size, at })
    }
    found.sort((a, b) => a.at - b.at)
    for (const { name } of found.splice(0, Math.max(0, found.length - this.bounds.keys))) {
      await rm(join(this.path, name), { force: true })
    }
    this.#bytes = found.reduce((sum, { size }) => sum + size, 0)
    // Some room at once, so that not every further answer sweeps again.
    for (const { name, size } of this.#bytes > this.bounds.bytes ? found : []) {
      if (this.#bytes <= this.bounds.bytes * 0.75) break
      if (size > shortest) await this.#drop(name, size)
    }
  }

  async #drop(name: string, size: number): Promise<void> {
    const record = await this.#read(join(this.path, name))
    if (!record) return
    await this.#write(name, { body: record.body, at: record.at, dropped: true })
    this.#bytes -= size
  }
}

const answerOf = (first: BashRecord, body: string): Answer => {
  if (first.body !== '' && first.body !== body) throw new SvcError('idempotency_key_reused')
  if (first.answer) return first.answer
  throw first.dropped
    ? new SvcError('outcome_unknown', 'The command ran and ended; its answer is no longer kept.')
    : new SvcError(
        'outcome_unknown',
        'The command was started under this key and cut off; how far it came is not known.',
      )
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

const bodyOf = ({ cwd, command, timeout, env = {}, stdin }: RecordedCommand): string =>
  digest(
    JSON.stringify([cwd, command, timeout, Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)), stdin ?? null]),
  )

const storageError = (error: unknown): unknown =>
  ['ENOSPC', 'EDQUOT', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')
    ? new SvcError('storage_full', 'That the command runs once can’t be noted: no space is left.', {}, { cause: error })
    : error
