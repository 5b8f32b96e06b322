import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What nodes need of svc itself: its command and the Node that runs it. */
export interface Installation {
  /** Directory of the `svc` command. */
  readonly bin: string
  /** Directory of the `node` program. */
  readonly node: string
  /** Paths that are shown, read-only; links among them as links. */
  readonly shown: readonly string[]
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

/** `bin/svc` starts `node_modules/.bin/node`, which may be a link to a program anywhere. */
const programOf = (root: string): string[] => {
  const called = join(root, 'node_modules/.bin/node')
  if (!existsSync(called)) return [realpathSync(process.execPath)]
  const way = [called]
  for (let at = called; isLink(at) && way.length < 8; ) {
    at = resolve(dirname(at), readlinkSync(at))
    way.push(at)
  }
  return [...new Set([...way, realpathSync(called)])]
}

/** The installation that this file belongs to. */
export const findInstallation = (from = new URL(import.meta.url)): Installation => {
  for (let at = new URL('./', from); ; at = new URL('../', at)) {
    const root = realpathSync(fileURLToPath(at))
    if (existsSync(join(root, 'bin/svc')) && existsSync(join(root, 'package.json'))) {
      const program = programOf(root)
      const parts = ['bin', 'dist/svc.mjs', 'dist/.compile-cache'].map((part) => join(root, part))
      return { bin: join(root, 'bin'), node: dirname(program.at(-1) as string), shown: [...parts, ...program] }
    }
    if (at.pathname === '/') throw new Error('bin/svc was not found beside the program of this host')
  }
}
