import { endGroups } from '#machine/process/process.group.js'
import { processOf } from '#machine/process/process-table.js'
import { type Belongs, carries, endTree, treeOf } from '#machine/process/process-tree.js'

const marks = ['SVC_BROKER_MARK', 'SVC_JOB_MARK'] as const

/** Brokers, tools, jobs and commands that an earlier start of this host on this data directory left; never the present one's. */
export const leftoversOf = (hostId: string, incarnation: string, dataMark: string): Belongs => {
  const ofDirectory = carries('SVC_DATA_MARK', dataMark)
  const ofHost = marks.map((name) => `\0${name}=${hostId}:`)
  return (row) => {
    const environment = row.environment()
    const carried = ofHost.filter((entry) => environment.includes(entry))
    return (
      carried.length > 0 &&
      !carried.some((entry) => environment.includes(`${entry}${incarnation}:`)) &&
      ofDirectory(row)
    )
  }
}

/** Kills them all; resolves, with their number, when none is left. They had no parent to tell them what to do. */
export const reapLeftovers = async (belongs: Belongs): Promise<number> => {
  const found = treeOf(belongs).length
  await endTree(belongs, 0)
  // What their groups still hold lost its mark; the groups of those who live are their hosts'.
  await endGroups((pid) => processOf(pid) === undefined)
  return found
}
