import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system in memory with an end that a test can reach. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'svc-disk-'))
  readonly #filler = join(this.path, 'filler')

  private constructor() {}

  /** Undefined where this account may not mount one. */
  static mount(megabytes: number): SmallDisk | undefined {
    const disk = new SmallDisk()
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'svc-test', disk.path])
    if (mounted.status === 0) return disk
    rmdirSync(disk.path)
    return undefined
  }

  /** Leaves no byte free. */
  fill(): void {
    for (const size of [1024 * 1024, 64 * 1024, 4096]) {
      try {
        for (;;) appendFileSync(this.#filler, Buffer.alloc(size))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  }

  free(): void {
    rmSync(this.#filler)
  }

  /** Nothing on it may be open any more. */
  unmount(): void {
    spawnSync('umount', ['--lazy', this.path])
    rmdirSync(this.path)
  }
}
