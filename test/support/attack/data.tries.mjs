// The daemon's directory and other nodes' files, by every path that leads there outside of a sandbox.
import { linkSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, symlinkSync, watch } from 'node:fs'
import { relative } from 'node:path'
import { cwd, own, processes, sh, systemCall, targets, told } from './inside.mjs'

const nowhere = /^(ENOENT|ENOTDIR|EACCES|EPERM|ELOOP|EXDEV|EINVAL)$/
const eachNowhere = (said) => said.length > 0 && said.every((one) => nowhere.test(one))
const { secrets, foreign, dataDir } = targets
/** Its own long outputs are shown by the path that they have. */
const ownPlace = (said) => [`got ["nodes"]`, `got ["${own}"]`].find((one) => one === said)
const read = (path) => told(() => readFileSync(path))

/** The first way through any process that is seen, by one of its links in /proc. */
const through = (link) => processes().flatMap((pid) => secrets.map((path) => read(`/proc/${pid}/${link}${path}`)))

const openFilesOf = (pid) => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`)
  } catch {
    // Ended since it was listed.
    return []
  }
}

const isDirectory = (path) => told(() => String(readdirSync(path).length)).startsWith('got')

export const dataTries = () => [
  {
    name: 'reads secrets of the daemon by their paths',
    why: 'the data directory is not mounted, or hidden',
    attempt: () => secrets.map(read),
    held: eachNowhere,
  },
  {
    name: 'lists the data directory and what lies in it',
    why: 'it is not there, or empty',
    attempt: () =>
      ['', '/keys', '/run', '/log', '/jobs', '/bash', '/nodes', '/postgres', '/worktrees'].map((name) =>
        told(() => readdirSync(dataDir + name)),
      ),
    held: (said) => said.every((one) => nowhere.test(one) || one === 'got []' || one === ownPlace(one)),
  },
  {
    name: "reads other nodes' files by their paths",
    why: 'they lie outside of its mounts',
    attempt: () => foreign.map(read),
    held: eachNowhere,
  },
  {
    name: 'climbs from its directory',
    why: 'above its mounts there is nothing',
    attempt: () => [...secrets, ...foreign].map((path) => read(`${relative(cwd, '/')}${path}`)),
    held: eachNowhere,
  },
  ...['root', 'cwd'].map((link) => ({
    name: `goes through /proc/*/${link}`,
    why: 'no process outside of the sandbox is seen, and those inside have its root',
    attempt: () => through(link),
    held: eachNowhere,
  })),
  {
    name: 'climbs from the working directory of each process',
    why: 'those of the sandbox stand in its root',
    attempt: () =>
      processes().flatMap((pid) => secrets.map((path) => read(`/proc/${pid}/cwd/../../../../../..${path}`))),
    held: eachNowhere,
  },
  {
    name: 'climbs from each directory that a process holds open',
    why: 'what was opened for mounting is closed before the program begins',
    attempt: () =>
      ['1', 'self', ...processes()]
        .flatMap(openFilesOf)
        .filter(isDirectory)
        .flatMap((at) => [...secrets, ...foreign].map((path) => read(`${at}/../../../../../../..${path}`))),
    held: (said) => said.every((one) => nowhere.test(one)),
  },
  {
    name: 'finds files of the daemon among the open ones of any process',
    why: 'nothing of it is inherited',
    attempt: () => ['1', 'self'].flatMap(openFilesOf).map((at) => told(() => readlinkSync(at))),
    held: (said) => said.every((one) => !one.includes(`${dataDir}/`)),
  },
  {
    name: 'reads by links that it makes',
    why: 'a link is followed in the sandbox',
    attempt: () =>
      [...secrets, ...foreign].map((path, at) => {
        symlinkSync(path, `link-${at}`)
        return read(`link-${at}`)
      }),
    held: eachNowhere,
  },
  {
    name: 'makes hard links to them',
    why: 'what is not seen has no name here',
    attempt: () => [...secrets, ...foreign].map((path, at) => told(() => linkSync(path, `hard-${at}`))),
    held: eachNowhere,
  },
  {
    name: 'watches the data directory',
    why: 'there is nothing to watch',
    attempt: () => secrets.map((path) => told(() => void watch(path).close())),
    held: (said) => said.every((one) => nowhere.test(one)),
  },
  {
    name: 'writes beside the secrets',
    why: 'what is written stays in the sandbox, or is refused',
    attempt: () => told(() => openSync(`${dataDir}/owner.token`, 'r+')),
    held: (said) => nowhere.test(said),
  },
  {
    name: 'opens files by handles, past all directories',
    why: 'it takes CAP_DAC_READ_SEARCH',
    needsPerl: true,
    attempt: async () =>
      (await systemCall('open_by_handle_at', 3, '"\\x08\\0\\0\\0\\1\\0\\0\\0\\2\\0\\0\\0\\0\\0\\0\\0"', 0)).said,
    held: (said) => /= -1 (Operation not permitted|Bad file descriptor|Stale file handle|Invalid argument)/.test(said),
  },
  {
    name: 'searches the whole file system for words that only others know',
    why: 'none of their files is anywhere in it',
    attempt: async () =>
      (
        await sh(
          'timeout 8 find / -path /proc -prune -o -path /usr -prune -o -name owner.token -print -o -name node-token.key -print 2>/dev/null',
        )
      ).said,
    held: (said) => !said.includes('owner.token') && !said.includes('node-token.key'),
  },
  {
    name: "sees another's file change its size",
    why: 'not even its existence is told',
    attempt: () => foreign.map((path) => told(() => lstatSync(path).size)),
    held: eachNowhere,
  },
]
