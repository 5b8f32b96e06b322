// "Install what is missing", shared by `npm start` and `npm test`: works on a bare Node 20 with nothing installed yet.
// The project's packages come from the lock (again whenever the lock changes); the three servers from Debian's packages
// when this may be done, else the remedy is printed. Nothing else is downloaded.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { hashFiles, root } from './files.mjs'

export const node = join(root, 'node_modules/.bin/node')
const stampFile = join(root, 'node_modules/.svc-lock')

/** Node's packages as locked. Install scripts are refused, except the one that brings Node 24. Throws when npm fails. */
export function installPackages() {
  if (isInstalled()) return
  // two at once would delete what the other one has just put there
  alone(() => {
    if (isInstalled()) return
    const wanted = hashFiles(['package-lock.json'])
    if (existsSync(node) && lockMatchesInstalled()) return writeFileSync(stampFile, wanted)
    console.log('install: npm ci')
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    run('npm', ['rebuild', 'node', '--loglevel=error'])
    writeFileSync(stampFile, wanted)
  })
}

function isInstalled() {
  return (
    existsSync(node) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hashFiles(['package-lock.json'])
  )
}

/** Runs the work while no other process of this checkout does; one that died is not waited for. */
function alone(work) {
  const lock = join(root, 'dist', '.install-lock')
  mkdirSync(join(root, 'dist'), { recursive: true })
  while (!takeLock(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  try {
    work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Whether whoever took it has died; after so long no installation runs any more, whose process ever has that number. */
function isLeft(lock) {
  try {
    if (Date.now() - statSync(lock).mtimeMs > 20 * 60_000) return true
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  if (isLeft(lock)) rmSync(lock, { force: true })
  return false
}

/**
 * PostgreSQL, Redis and NATS on this machine. Installs them where apt is there and we are root.
 * @returns {string[]} what is still missing, as package names
 */
export function installServers() {
  const missing = missingServers()
  if (!missing.length) return []
  if (process.getuid?.() === 0 && findProgram('apt-get')) {
    console.log(`install: apt-get install ${missing.join(' ')}`)
    withoutStartingThem(() => {
      apt('update', '-qq')
      apt('install', '-y', '-qq', '--no-install-recommends', ...missing)
    })
  }
  return missingServers()
}

/** The sentence that tells a person what to install. */
export function remedyFor(missing) {
  return `missing: ${missing.join(', ')}. On Debian or Ubuntu: sudo apt-get install ${missing.join(' ')}; or run a Docker Engine; or point DATABASE_URL, NATS_URL and REDIS_URL at servers that you run.`
}

/** True when this process runs on the Node of the project; else the caller starts itself again with `node`. */
export function runsOnProjectNode() {
  return Number(process.versions.node.split('.')[0]) >= 24
}

/** Runs the calling script again on the project's Node, with the same arguments; never returns. */
export function restartOnProjectNode() {
  const result = spawnSync(node, process.argv.slice(1), { stdio: 'inherit', env: projectEnvironment() })
  process.exit(result.status ?? 1)
}

/** The environment for child processes: the project's programs first on the path. */
export function projectEnvironment(extra = {}) {
  return { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}`, ...extra }
}

/** Where a program is, looked up as a shell does, and where Debian keeps PostgreSQL's. */
export function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', ...postgresFolders()]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** Only the programs are wanted: a package that starts its server would take the machine's public ports. */
function withoutStartingThem(install) {
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  // 101 is policy-rc.d's word for "action not allowed".
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    install()
  } finally {
    if (isOurs) rmSync(policy, { force: true })
  }
}

/** What apt could not do shows in what is missing afterwards; its own words are on the terminal. */
function apt(...args) {
  spawnSync('apt-get', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

function missingServers() {
  const wanted = { postgresql: 'postgres', 'redis-server': 'redis-server', 'nats-server': 'nats-server' }
  return Object.entries(wanted).flatMap(([pkg, program]) => (findProgram(program) ? [] : [pkg]))
}

function postgresFolders() {
  const base = '/usr/lib/postgresql'
  return existsSync(base) ? readdirSync(base).map((version) => join(base, version, 'bin')) : []
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** npm writes what it installed into a hidden lock of its own; a tree that npm installed by hand is taken as it is. */
function lockMatchesInstalled() {
  const hidden = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(hidden)) return false
  const installed = JSON.parse(readFileSync(hidden, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, entry]) => !path || entry.optional || installed[path]?.version === entry.version,
  )
}

function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed (${status})`)
}
