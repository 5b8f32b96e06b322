// The rules of the house that neither the compiler nor the linter knows. Prints `file:line  rule` for each offence.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { listFiles, root } from './files.mjs'

const isTest = (path) => /\.(int-|e2e-)?spec\.ts$/.test(path) || path.startsWith('test/')
const isClock = (path) => /(^|[/.])clock\.ts$/.test(path)
const isProduct = (path) => /^(apps|libs)\//.test(path) && !isTest(path)
/** The one file that may wait by the clock, and those that may leave a test out (loudly). */
const waits = 'libs/common/src/testing/wait-for.ts'
const skips = ['libs/common/src/testing/describe-with-engine.ts', 'test/trust/not-applicable.ts']

const rules = [
  {
    says: 'take the time from the injected clock (kernel/clock.ts)',
    pattern: /\bDate\.now\(\)|\bnew Date\(\)/,
    concerns: (path) => !isClock(path) && path !== waits && !path.startsWith('test/bench/'),
  },
  {
    says: 'no sleeps: wait for a state or an event',
    pattern: /timers\/promises|setTimeout\(\s*(resolve|res|r|done|ok)\b|setTimeout\(\(\) => (resolve|res|r|done|ok)\(/,
    concerns: (path) => !isClock(path) && path !== waits,
  },
  {
    says: 'a test waits for a state (testing/wait-for.ts), never for time',
    pattern: /\bset(Timeout|Interval)\(/,
    concerns: isTest,
  },
  {
    says: 'every test runs: no only, skip, todo',
    pattern: /\b(it|test|describe)\.(only|skip|todo)\b|\b(xit|xtest|xdescribe|fit|fdescribe)\(/,
    concerns: (path) => !skips.includes(path),
  },
  { says: 'no enums: a union of strings', pattern: /^\s*(export )?(const )?enum /, concerns: () => true },
  { says: 'finish it, or say why not in an ADR', pattern: /\b(TODO|FIXME|XXX|HACK)\b/, concerns: () => true },
  {
    says: 'log through the logger',
    pattern: /\bconsole\.(log|info|debug)\(/,
    concerns: (path) => isProduct(path) && !/^apps\/(cli|daemon)\//.test(path),
  },
]

/** @returns {string[]} one line an offence */
export function offences(path, text) {
  const lines = text.split('\n')
  const found = []
  if (lines.length > 401) found.push(`${path}:401  a file of ${lines.length - 1} lines: split it by verb (400 at most)`)
  if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*\.ts$/.test(path.slice(path.lastIndexOf('/') + 1)))
    found.push(`${path}:1  name files in kebab-case, <noun>.<role>.ts`)
  for (const rule of rules) {
    if (!rule.concerns(path)) continue
    lines.forEach((line, at) => {
      if (!/^\s*(\/\/|\*|\/\*)/.test(line) && rule.pattern.test(line)) found.push(`${path}:${at + 1}  ${rule.says}`)
    })
  }
  return found
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const files = listFiles(['apps', 'libs', 'test'], (name) => /\.ts$/.test(name)).filter(
    (path) => !/\/generated/.test(path),
  )
  const found = files.flatMap((path) => offences(path, readFileSync(join(root, path), 'utf8')))
  for (const line of found) console.error(line)
  console.log(`house rules: ${files.length} files, ${found.length} offences`)
  process.exitCode = found.length ? 1 : 0
}
