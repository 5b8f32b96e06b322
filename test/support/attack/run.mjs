// Runs the tries of the groups that it is told, one after the other, and writes one line of JSON a try.
import { appendFileSync } from 'node:fs'
import { careTries } from './care.tries.mjs'
import { dataTries } from './data.tries.mjs'
import { homeTries } from './home.tries.mjs'
import { targets } from './inside.mjs'
import { makingTries } from './making.tries.mjs'
import { processTries } from './process.tries.mjs'
import { repositoryTries } from './repository.tries.mjs'
import { routeTries } from './route.tries.mjs'
import { scheduleTries } from './schedule.tries.mjs'
import { socketTries } from './socket.tries.mjs'
import { systemTries } from './system.tries.mjs'

const groups = {
  care: careTries,
  data: dataTries,
  home: homeTries,
  making: makingTries,
  process: processTries,
  repository: repositoryTries,
  route: routeTries,
  schedule: scheduleTries,
  socket: socketTries,
  system: systemTries,
}

for (const group of process.argv.slice(2)) {
  for (const { name, why, attempt, held, needsPerl } of groups[group]()) {
    if (needsPerl && !targets.perl) continue
    let said
    try {
      said = await attempt()
    } catch (error) {
      said = `the try itself failed: ${error.stack}`
    }
    const text = typeof said === 'string' ? said : JSON.stringify(said)
    const isHeld = !text.startsWith('the try itself failed') && held(said)
    // What it got is looked through from outside, for what no node may know.
    appendFileSync(
      'tries.jsonl',
      `${JSON.stringify({ group, name, why, held: isHeld, said: text.slice(0, 20_000) })}\n`,
    )
  }
}
