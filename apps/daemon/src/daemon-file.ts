import { join } from 'node:path'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { readIfPresent, removeIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'

/** `run/daemon.json`: where a ready daemon serves. There from "ready" to the first signal to stop. */
export interface DaemonFile {
  pid: number
  /** ISO 8601, UTC. */
  started_at: string
  version: string
  base_url: string
  socket: string
  /** Whether the host of this machine was heard by then. */
  heard: boolean
}

const pathOf = (data: Pick<DataDirectory, 'run'>): string => join(data.run, 'daemon.json')

export function writeDaemonFile(data: DataDirectory, content: DaemonFile): void {
  writePrivateFile(pathOf(data), `${JSON.stringify(content, null, 2)}\n`)
}

export function readDaemonFile(data: Pick<DataDirectory, 'run'>): DaemonFile | undefined {
  const text = readIfPresent(pathOf(data))
  return text === undefined ? undefined : (JSON.parse(text) as DaemonFile)
}

export function removeDaemonFile(data: DataDirectory): void {
  removeIfPresent(pathOf(data))
}
