import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** Where a file stands, without the path of this machine. */
const placeOf = (url: string): string => url.replace(/^.*\/(dist|node_modules)\//, '').replace(/^file:\/\//, '')

const largest = 40

/** Functions of one V8 profile by the time that they themselves took, ms. */
const topOf = (profile: Profile): string[] => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const spent = new Map<string, number>()
  profile.samples.forEach((id, at) => {
    const frame = nodes.get(id)
    if (!frame || frame.functionName === '(idle)') return
    const name = `${frame.functionName || '(anonymous)'} ${placeOf(frame.url)}:${frame.lineNumber + 1}`
    spent.set(name, (spent.get(name) ?? 0) + (profile.timeDeltas[at] ?? 0) / 1000)
  })
  return [...spent]
    .sort(([, a], [, b]) => b - a)
    .slice(0, largest)
    .map(([name, ms]) => `${ms.toFixed(0).padStart(8)}  ${name}`)
}

/** The heaviest functions of every profile in a directory. */
export const summaryOf = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => [name, ...topOf(JSON.parse(readFileSync(join(directory, name), 'utf8')) as Profile)].join('\n'))
    .join('\n\n')
