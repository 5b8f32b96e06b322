import { type Belongs, carries, endTree, treeOf } from '#machine/process/process-tree.js'

/** Brokers and tools that an earlier start of this host on this data directory left; never the present one's. */
export const leftoversOf = (hostId: string, incarnation: string, dataMark: string): Belongs => {
  const ofDirectory = carries('SVC_DATA_MARK', dataMark)
  const ofHost = `\0SVC_BROKER_MARK=${hostId}:`
  return (row) => {
    const environment = row.environment()
    return environment.includes(ofHost) && !environment.includes(`${ofHost}${incarnation}:`) && ofDirectory(row)
  }
}

/** Kills them all; resolves, with their number, when none is left. They had no parent to tell them what to do. */
export const reapLeftovers = async (belongs: Belongs): Promise<number> => {
  const found = treeOf(belongs).length
  if (found) await endTree(belongs, 0)
  return found
}
