// Writes package-lock.json so that `npm ci` accepts it on every platform.
// npm drops an optional package that the registry in use does not carry (mirrors often keep the binaries of one
// platform only), and `npm ci` then calls the lock incomplete. The parents pin these packages, so their entries are
// derived here; without an integrity, since nothing was fetched. Usage: npm run lock [-- --keep | --check]; --keep leaves
// the resolved versions alone and only completes the file, --check only says whether it is complete.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = `${root}package-lock.json`
const platforms = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32']

const check = process.argv.includes('--check')
if (!check && !process.argv.includes('--keep')) {
  rmSync(file, { force: true })
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: root, stdio: 'inherit' })
}

const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = []
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue
    lock.packages[`node_modules/${name}`] = platformEntry(name, range, entry)
    added.push(name)
  }
}
if (check) {
  for (const name of added) console.error(`package-lock.json lacks ${name}: run \`npm run lock -- --keep\``)
  process.exit(added.length ? 1 : 0)
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`lock: ${added.length} packages of other platforms added`)

/** Node's own look-up: beside the package, then in every folder above. */
function isLocked(from, name) {
  const parts = from.split('/node_modules/')
  return (
    parts.some((_, i) => lock.packages[`${parts.slice(0, i + 1).join('/node_modules/')}/node_modules/${name}`]) ||
    Boolean(lock.packages[`node_modules/${name}`])
  )
}

function platformEntry(name, range, parent) {
  const words = name.replaceAll('/', '-').replace('@', '').replace('x86_64', 'x64').split('-')
  const os = platforms.filter((p) => words.includes(p) || words.includes(p.replace('win32', 'windows')))
  const cpu = processors.filter((p) => words.includes(p))
  if (!os.length && !cpu.length) throw new Error(`${name}: neither locked nor a platform's package`)
  const libc = words.some((w) => w.startsWith('musl'))
    ? ['musl']
    : words.some((w) => w.startsWith('gnu'))
      ? ['glibc']
      : undefined
  return {
    version: range.replace(/^[\^~]/, ''),
    ...(cpu.length ? { cpu } : {}),
    ...(parent.dev ? { dev: true } : {}),
    ...(libc ? { libc } : {}),
    optional: true,
    ...(os.length ? { os } : {}),
  }
}
