// Builds dist/: every source of apps/ and libs/ by swc, the tree kept, then the broker and the command as one file each.
// Only what changed since the last build is compiled; a stamp in dist/ keeps the hashes. Usage: npm run build [-- --force].
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { hashFiles, hashOf, listFiles, root } from './files.mjs'

const stampFile = join(root, 'dist/.build.json')
const bundles = [
  { entry: 'apps/broker/src/main.ts', file: 'dist/broker.mjs' },
  { entry: 'apps/cli/src/main.ts', file: 'dist/svc.mjs' },
]
const started = performance.now()

generatePrismaClient()
const settings = hashFiles(['.swcrc', 'package.json', 'package-lock.json', 'scripts/build.mjs'])
const before = readStamp()
const after = { settings, sources: {}, bundles: {} }
const compiled = await compileSources()
const bundled = await bundleAll()
writeStamp(after)
console.log(`build: ${compiled} compiled, ${bundled} bundled, ${Math.round(performance.now() - started)} ms`)

function readStamp() {
  if (process.argv.includes('--force') || !existsSync(stampFile)) return { sources: {}, bundles: {} }
  const stamp = JSON.parse(readFileSync(stampFile, 'utf8'))
  return stamp.settings === settings ? stamp : { sources: stamp.sources, bundles: {}, stale: true }
}

function writeStamp(stamp) {
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, JSON.stringify(stamp))
}

function generatePrismaClient() {
  const script = join(root, 'scripts/prisma-generate.mjs')
  if (existsSync(script)) execFileSync(process.execPath, [script], { cwd: root, stdio: 'inherit' })
}

async function compileSources() {
  const sources = listFiles(['apps', 'libs'], (name) => /\.ts$/.test(name) && !/\.(int-)?spec\.ts$|\.d\.ts$/.test(name))
  const changed = []
  for (const path of sources) {
    const content = readFileSync(join(root, path), 'utf8')
    const hash = hashOf(content)
    after.sources[path] = hash
    if (before.stale || before.sources[path] !== hash || !existsSync(outputOf(path))) changed.push({ path, content })
  }
  for (const gone of Object.keys(before.sources)) if (!(gone in after.sources)) removeOutput(gone)
  if (changed.length) {
    // a build that is cut off has these to compile again, also when their sources are then what they were before
    const kept = Object.entries(after.sources).filter(([path]) => !changed.some((one) => one.path === path))
    writeStamp({ settings, sources: Object.fromEntries(kept), bundles: {} })
    await compile(changed)
    writeStamp({ ...after, bundles: {} })
  }
  return changed.length
}

async function compile(changed) {
  const { transform } = await import('@swc/core')
  const queue = [...changed]
  const failures = []
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const out = outputOf(next.path)
      try {
        const { code, map } = await transform(next.content, {
          filename: join(root, next.path),
          sourceFileName: join(root, next.path),
          configFile: join(root, '.swcrc'),
        })
        mkdirSync(dirname(out), { recursive: true })
        writeFileSync(out, `${code}\n//# sourceMappingURL=${out.slice(out.lastIndexOf('/') + 1)}.map\n`)
        writeFileSync(`${out}.map`, map)
      } catch (error) {
        failures.push(`${next.path}\n${error.message.split('Stack backtrace')[0]}`)
      }
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() * 2 }, worker))
  if (!failures.length) return
  console.error(failures.join('\n'))
  process.exit(1)
}

async function bundleAll() {
  const whole = hashOf(JSON.stringify([settings, after.sources]))
  let built = 0
  for (const { entry, file } of bundles) {
    if (!existsSync(join(root, entry))) continue
    after.bundles[file] = whole
    if (before.bundles[file] === whole && existsSync(join(root, file))) continue
    await bundle(entry, file)
    built += 1
  }
  return built
}

/** CommonJS dependencies inside an ES module bundle ask for `require`, which the banner gives them. */
async function bundle(entry, file) {
  const { build } = await import('esbuild')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  await build({
    entryPoints: [outputOf(entry)],
    outfile: join(root, file),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    define: { 'process.env.SVC_VERSION': JSON.stringify(version) },
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  })
}

function outputOf(path) {
  return join(root, 'dist', path.replace(/\.ts$/, '.js'))
}

function removeOutput(path) {
  for (const file of [outputOf(path), `${outputOf(path)}.map`]) rmSync(file, { force: true })
}
