import { type Dirent, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type JobEnd, jobEnd } from '#common/contract/job.internal.js'
import { readIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'

/** What is noted of a job before it is started. */
export interface JobClaim {
  readonly job_id: string
  readonly node_id: string
  readonly started_at: string
}

const jobClaim = z.object({ job_id: z.string(), node_id: z.string(), started_at: z.string() })

/** How long the files of an ended job are kept (ms), how many bytes of all, and of how many jobs. */
export interface KeepLimits {
  readonly age: number
  readonly bytes: number
  readonly jobs: number
}

/** A draft begins with a dot. What else somebody put there is left alone, and in nobody's way. */
const isJob = (entry: Dirent): boolean => entry.isDirectory() && entry.name.startsWith('job_')

const names = { claim: 'job.json', end: 'end.json', told: 'told.json' } as const

/** What a file holds; undefined where somebody else wrote into it. */
const parsed = <T>(schema: z.ZodType<T>, text: string | undefined): T | undefined => {
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/**
 * One directory a job: `job.json` from before its start, the output, `end.json` once it has ended, which is called
 * `told.json` when lifecycle knows it. A directory is never made twice, so no command is ever run twice.
 */
export class JobStore {
  /** @param path `jobs` in the data directory */
  constructor(readonly path: string) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }

  directoryOf(jobId: string): string {
    return join(this.path, jobId)
  }

  /** Notes that a job is about to run; answers false when it ever was. In one step, so that a crash leaves no half. */
  claim(claim: JobClaim): boolean {
    const draft = join(this.path, `.${claim.job_id}`)
    rmSync(draft, { recursive: true, force: true })
    mkdirSync(draft, { mode: 0o700 })
    writePrivateFile(join(draft, names.claim), JSON.stringify(claim))
    try {
      renameSync(draft, this.directoryOf(claim.job_id))
      return true
    } catch (error) {
      rmSync(draft, { recursive: true, force: true })
      if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  }

  knows(jobId: string): boolean {
    return statSync(this.directoryOf(jobId), { throwIfNoEntry: false }) !== undefined
  }

  keepEnd(end: JobEnd): void {
    writePrivateFile(join(this.directoryOf(end.job_id), names.end), JSON.stringify(end))
  }

  /** Lifecycle has taken the end, which may not have been kept before for want of room on the disk. */
  markTold(end: JobEnd): void {
    const directory = this.directoryOf(end.job_id)
    try {
      renameSync(join(directory, names.end), join(directory, names.told))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      writePrivateFile(join(directory, names.told), JSON.stringify(end))
    }
  }

  /** The end of a job, told or not; undefined while there is none. */
  endOf(jobId: string): JobEnd | undefined {
    const directory = this.directoryOf(jobId)
    const text = readIfPresent(join(directory, names.end)) ?? readIfPresent(join(directory, names.told))
    return parsed(jobEnd, text)
  }

  /** What an earlier start left: ends that lifecycle doesn't know yet, and jobs that have none. Drafts are removed. */
  leftovers(): { untold: JobEnd[]; endless: JobClaim[] } {
    const untold: JobEnd[] = []
    const endless: JobClaim[] = []
    for (const entry of readdirSync(this.path, { withFileTypes: true })) {
      const { name } = entry
      const directory = this.directoryOf(name)
      if (name.startsWith('.')) {
        rmSync(directory, { recursive: true, force: true })
        continue
      }
      if (!isJob(entry)) continue
      const files = readdirSync(directory)
      if (files.includes(names.told)) continue
      const end = files.includes(names.end) ? this.endOf(name) : undefined
      const claim = parsed(jobClaim, readIfPresent(join(directory, names.claim)))
      if (end) untold.push(end)
      else if (claim) endless.push(claim)
    }
    return { untold, endless }
  }

  /** Removes the files of jobs that lifecycle knows to have ended: the oldest first, until the rest is within limits. */
  async sweep(limits: KeepLimits, now: number): Promise<number> {
    const jobs = (await readdir(this.path, { withFileTypes: true })).filter(isJob)
    const ended = (await Promise.all(jobs.map(({ name }) => this.#weigh(name)))).filter((entry) => entry !== undefined)
    ended.sort((a, b) => b.endedAt - a.endedAt)
    let [bytes, kept, removed] = [0, 0, 0]
    for (const { name, endedAt, size } of ended) {
      bytes += size
      kept += 1
      if (now - endedAt < limits.age && bytes <= limits.bytes && kept <= limits.jobs) continue
      await rm(this.directoryOf(name), { recursive: true, force: true })
      removed += 1
    }
    return removed
  }

  async #weigh(name: string): Promise<{ name: string; endedAt: number; size: number } | undefined> {
    const directory = this.directoryOf(name)
    const files = await readdir(directory)
    if (!files.includes(names.told)) return undefined
    const stats = await Promise.all(files.map((file) => stat(join(directory, file))))
    const size = stats.reduce((sum, { size: bytes }) => sum + bytes, 0)
    return { name, endedAt: (await stat(join(directory, names.told))).mtimeMs, size }
  }
}
