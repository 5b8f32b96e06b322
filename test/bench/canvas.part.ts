import { TestDaemon } from '../support/daemon.js'
import { type Part, rounds } from './bench.js'
import { seedCanvas } from './canvas.seed.js'
import { most, rowsOf } from './row.js'

const sizes = { small: { nodes: 5000, turns: 50_000 }, scale: { nodes: 100_000, turns: 1_000_000 } }

interface Word {
  readonly word: string
  readonly ndoc: number
}

/** Views of a canvas that has grown old: with `--scale` of 100,000 nodes and 1,000,000 turns. */
export const canvas: Part = async (bench) => {
  // What is seeded has numbers of its own, beside which no other node may stand.
  const daemon = await TestDaemon.start()
  const database = await daemon.database()
  try {
    return await grown({ ...bench, daemon, database, wire: { url: daemon.baseUrl, token: daemon.token } })
  } finally {
    await database.close()
    await daemon.stop()
  }
}

const grown: Part = async (bench) => {
  const { load, wire, database, options } = bench
  const size = options.scale ? sizes.scale : sizes.small
  await seedCanvas(database, size)
  const words = await database.rows<Word>(
    `SELECT word, ndoc FROM ts_stat('SELECT words FROM (SELECT words FROM canvas.passages LIMIT 20000) AS page')
      WHERE word NOT LIKE chr(1) || '%' ORDER BY ndoc DESC`,
  )
  // the commonest words and rare ones, alone and together
  const ranks = [0, 1, 5, 20, 100, 500, 2000, words.length - 1]
  const texts = ranks.map((at) => words[Math.min(at, words.length - 1)]?.word ?? '')
  const queries = [...texts, ...texts.map((text, at) => `${text} ${texts[(at + 3) % texts.length]}`)]
  const search = queries.map((query) => ({ query }))
  const grep = texts.map((pattern) => ({ pattern, limit: 50 }))
  const name = `${size.nodes / 1000}k nodes, ${size.turns / 1000}k turns`
  const path = '/v1/canvas'
  const [roster, snapshot, searches, greps] = [
    await rounds(bench, 400, (count) => load.run('get', { wire, path: `${path}/roster`, count, width: 2 })),
    await rounds(bench, 40, (count) => load.run('get', { wire, path: `${path}/snapshot?limit=1000`, count, width: 1 })),
    await rounds(bench, 400, (count) =>
      load.run('postEach', { wire, path: `${path}/history/search`, bodies: search, count, width: 2 }),
    ),
    await rounds(bench, 80, (count) =>
      load.run('postEach', { wire, path: `${path}/history/grep`, bodies: grep, count, width: 1 }),
    ),
  ]
  return [
    ...rowsOf('canvas', `roster of 50, ${name}`, roster, { p50: { cpu: roster.cpu }, p99: { target: most(100) } }),
    ...rowsOf('canvas', `snapshot of 1000, ${name}`, snapshot, { p50: { cpu: snapshot.cpu }, p99: {} }),
    ...rowsOf('canvas', `search, ${name}`, searches, { p50: { cpu: searches.cpu }, p99: { target: most(100) } }),
    ...rowsOf('canvas', `grep of 50 lines, ${name}`, greps, { p50: { cpu: greps.cpu }, p99: {} }),
  ]
}
