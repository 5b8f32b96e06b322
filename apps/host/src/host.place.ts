import { randomBytes } from 'node:crypto'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '#common/kernel/config.js'
import { type DataDirectory, openDataDirectory, privateDirectory } from '#common/kernel/servers/data-directory.js'
import type { PoolLimits } from './broker/broker-pool.js'
import { findBrokerProgram } from './broker/broker-program.js'

/** Where this host stands and what it may use. */
export interface HostPlace {
  readonly hostId: string
  /** New at each start of the host. */
  readonly incarnation: string
  readonly dataMark: string
  readonly brokerProgram: string
  readonly brokerLog: string
  /** Brokers that may live at once. */
  readonly cap: number
  readonly pool: PoolLimits
  /** Names the number of nodes that are hosted. */
  readonly nodeCountFile: string
  /** The data directory as the host locks it: its `run` is the host's own. */
  readonly data: DataDirectory
  scratchOf(nodeId: string): string
}

export const HOST_PLACE = Symbol('host place')

/** A broker and its tools take about this much of the machine's memory, of which they may have three quarters. */
const memoryOfBroker = 96 * 1024 * 1024

/** Memory that this process may use: of its container where there is one, else of the machine. */
const memory = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}

export const hostPlaceOf = (settings: Settings, brokerProgram = findBrokerProgram()): HostPlace => {
  const data = openDataDirectory(settings.SVC_DATA_DIR)
  const cap = Math.max(1, Math.min(settings.SVC_BROKER_CAP, Math.floor((memory() * 0.75) / memoryOfBroker)))
  return {
    hostId: settings.SVC_HOST_ID,
    incarnation: randomBytes(8).toString('hex'),
    dataMark: data.mark,
    brokerProgram,
    brokerLog: join(data.log, 'broker.log'),
    cap,
    pool: {
      warm: settings.SVC_BROKER_WARM,
      warmCap: settings.SVC_BROKER_WARM + 4,
      reuse: settings.SVC_BROKER_REUSE,
      usedCap: Math.min(32, cap),
    },
    nodeCountFile: join(data.run, 'host.json'),
    data: { ...data, run: privateDirectory(join(data.run, `host-${settings.SVC_HOST_ID}`)) },
    scratchOf: (nodeId) => join(data.path, 'scratch', nodeId),
  }
}
