import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync, symlinkSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where one daemon keeps everything. All directories are 0700 and belong to the account that runs it. */
export interface DataDirectory {
  path: string
  run: string
  secrets: string
  keys: string
  log: string
  /** `run`, or a short link to it: a socket below it fits into the 107 bytes that the kernel allows. */
  sockets: string
  /** Stands in the environment (`SVC_DATA_MARK`) of every process that serves this directory. */
  mark: string
}

/** sun_path holds 108 bytes with its closing zero. */
const longestSocketPath = 107
const longestSocketName = '/postgres/.s.PGSQL.5432'.length

/** Creates what is missing. Throws when the directory belongs to another account. */
export function openDataDirectory(path: string): DataDirectory {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  const owner = statSync(real).uid
  const self = process.getuid?.() ?? owner
  if (owner !== self) {
    throw new Error(
      `The data directory ${real} belongs to user id ${owner}, and this is user id ${self}. ` +
        'Run svc as that user, or set SVC_DATA_DIR to a directory of your own.',
    )
  }
  const run = privateDirectory(join(real, 'run'))
  const mark = `svc-${createHash('sha256').update(real).digest('hex').slice(0, 12)}`
  return {
    path: real,
    run,
    secrets: privateDirectory(join(real, 'secrets')),
    keys: privateDirectory(join(real, 'keys')),
    log: privateDirectory(join(real, 'log')),
    sockets: shortEnough(run) ? run : shortLink(run, mark),
    mark,
  }
}

export function privateDirectory(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}

function shortEnough(directory: string): boolean {
  return Buffer.byteLength(directory) + longestSocketName <= longestSocketPath
}

/**
 * A link to `run` in a 0700 directory under the runtime or temporary directory. The directory must be ours and no
 * link itself, since anybody can create names in /tmp.
 */
function shortLink(run: string, mark: string): string {
  const bases = [process.env.XDG_RUNTIME_DIR, tmpdir(), '/tmp'].filter((base): base is string => !!base)
  for (const base of bases) {
    const holder = join(base, mark)
    const link = join(holder, 'run')
    if (!shortEnough(link)) continue
    mkdirSync(holder, { recursive: true, mode: 0o700 })
    const stat = lstatSync(holder)
    if (!stat.isDirectory() || stat.uid !== process.getuid?.()) continue
    chmodSync(holder, 0o700)
    pointLink(link, run)
    return link
  }
  throw new Error(`${run} is too long for a socket, and no short private directory was found in: ${bases.join(', ')}`)
}

function pointLink(link: string, target: string): void {
  try {
    if (readlinkSync(link) === target) return
    unlinkSync(link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  symlinkSync(target, link)
}
