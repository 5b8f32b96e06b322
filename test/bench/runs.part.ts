import { type Bench, type Part, rounds } from './bench.js'
import { least, most, type Row, rowsOf } from './row.js'
import { roundOf } from './stats.js'

const call = 'model call at the mock'
const plain = 'What is two and two?'
const shell = 'Use a shell, then stop.'

/** From the creation of a terminal node to its outcome, in a broker that serves one node after another. */
export const runs: Part = async (bench) => [
  ...(await oneModelCall(bench)),
  ...(await firstRequest(bench)),
  ...(await throughSdk(bench)),
  ...(await oneShellTool(bench)),
]

const work = ({ wire, daemon }: Bench, prompt: string) => ({ wire, prompt, cwd: daemon.workDir })

const oneModelCall = async (bench: Bench): Promise<Row[]> => {
  const { load } = bench
  // Sixteen at once first: they warm the code up for what is measured one by one.
  const many = await rounds(bench, 600, (count) => load.run('runs', { ...work(bench, plain), count, width: 16 }))
  const one = await rounds(bench, 100, (count) => load.run('runs', { ...work(bench, plain), count, width: 1 }))
  return [
    ...rowsOf('runs', 'run with one model call, c=1', one, {
      p50: { target: most(15), floor: `${call}, c=1, p50`, cpu: one.cpu },
      p99: {},
    }),
    ...rowsOf('runs', 'run with one model call, c=16', many, {
      rate: { target: least(100), floor: `${call}, c=16, rate`, cpu: many.cpu },
      p50: {},
      p99: {},
    }),
  ]
}

/** From the moment the creation is sent to the moment its model call reaches the provider. */
const firstRequest = async (bench: Bench): Promise<Row[]> => {
  const { load, mock } = bench
  const found = await rounds(bench, 100, async (count) => {
    await mock.run('arrivals', null)
    const sent = await load.run('sent', { ...work(bench, plain), count })
    const arrived = await mock.run('arrivals', null)
    if (arrived.length !== sent.length) throw new Error(`${sent.length} runs made ${arrived.length} model calls`)
    return roundOf(
      sent.map((moment, at) => (arrived[at] ?? Number.NaN) - moment),
      Number.NaN,
    )
  })
  return rowsOf('runs', 'create → first model request, c=1', found, { p50: { target: most(8) }, p99: {} })
}

const throughSdk = async (bench: Bench): Promise<Row[]> => {
  const found = await rounds(bench, 100, (count) =>
    bench.load.run('sdkRuns', { ...work(bench, plain), count, width: 1 }),
  )
  return rowsOf('runs', 'the same run through the SDK, c=1', found, { p50: {} })
}

const oneShellTool = async (bench: Bench): Promise<Row[]> => {
  const found = await rounds(bench, 60, (count) => bench.load.run('runs', { ...work(bench, shell), count, width: 1 }))
  return rowsOf('runs', 'run with one shell tool, c=1', found, { p50: { cpu: found.cpu }, p99: {} })
}
