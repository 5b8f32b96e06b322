import { join } from 'node:path'
import { pause, systemClock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { processesOf } from '#common/kernel/servers/directory-processes.js'
import { readIfPresent, removeIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'
import { type ProcessIdentity, signal } from '#common/kernel/servers/process-identity.js'

/**
 * How the command says more than a signal can: it writes `run/down.json`, sends SIGTERM to the holder of the lock, waits
 * for its end, and reads `run/down.done.json`.
 */
export interface DownRequest {
  /** Stop the host and every node's processes too. */
  nodes: boolean
}

export interface DownOutcome extends DownRequest {
  /** Processes of this data directory that could not be ended. */
  left: number[]
}

const request = (data: DataDirectory): string => join(data.run, 'down.json')
const outcome = (data: DataDirectory): string => join(data.run, 'down.done.json')

/** Takes the request, if there is one; a plain signal leaves host and nodes alone. */
export function takeDownRequest(data: DataDirectory): DownRequest {
  const text = readIfPresent(request(data))
  removeIfPresent(request(data))
  if (text === undefined) return { nodes: false }
  try {
    return { nodes: (JSON.parse(text) as { nodes?: unknown }).nodes === true }
  } catch (cause) {
    throw new Error(`${request(data)} is not JSON`, { cause })
  }
}

/** Forgets requests and answers of an earlier daemon. */
export function clearDownFiles(data: DataDirectory): void {
  removeIfPresent(request(data))
  removeIfPresent(outcome(data))
}

export function reportDown(data: DataDirectory, result: DownOutcome): void {
  writePrivateFile(outcome(data), JSON.stringify(result))
}

/**
 * Makes sure that no process of this data directory is left: what still runs is asked to end, and killed after five
 * seconds. Answers those that survive that.
 */
export async function endMarked(data: DataDirectory, log: Logger): Promise<number[]> {
  const first = processesOf(data)
  if (first.length > 0) log.warn({ pids: first.map(({ pid }) => pid) }, 'processes were left behind, ending them')
  for (const identity of first) signalOrNote(identity, 'SIGTERM', log)
  if (await goneWithin(data, 5000)) return []
  for (const identity of processesOf(data)) signalOrNote(identity, 'SIGKILL', log)
  await goneWithin(data, 2000)
  return processesOf(data).map(({ pid }) => pid)
}

async function goneWithin(data: DataDirectory, ms: number): Promise<boolean> {
  const until = systemClock.monotonic() + ms
  while (processesOf(data).length > 0) {
    if (systemClock.monotonic() > until) return false
    await pause(systemClock, 20)
  }
  return true
}

function signalOrNote(identity: ProcessIdentity, name: NodeJS.Signals, log: Logger): void {
  try {
    signal(identity, name)
  } catch (error) {
    log.warn({ pid: identity.pid, err: error }, 'could not signal a process')
  }
}
