import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPlaceOf } from '../../apps/host/src/host.place.js'
import { findSandboxGround } from '../../apps/host/src/sandbox/sandbox.ground.js'
import { SandboxPlanner } from '../../apps/host/src/sandbox/sandbox.planner.js'
import { settings } from '../../libs/common/src/kernel/config.js'
import type { SandboxPlan } from '../../libs/machine/src/sandbox/sandbox.plan.js'
import type { PlayedNode } from './broker-routes.js'

let planner: Promise<SandboxPlanner> | undefined

/** One for all tests of a worker: looking at the machine takes a while. */
const plannerOfTests = (): Promise<SandboxPlanner> => {
  planner ??= (async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-plan-'))
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
    const place = hostPlaceOf(settings.parse({ SVC_DATA_DIR: directory }))
    return new SandboxPlanner(place, await findSandboxGround(place))
  })()
  return planner
}

/** The plan that the host of this machine would make for a played node. */
export const testPlanOf = async (node: PlayedNode): Promise<SandboxPlan> => {
  const { cwd = tmpdir() } = node.given
  return (await plannerOfTests()).planFor({ nodeId: node.id, cwd, scopes: [] })
}
