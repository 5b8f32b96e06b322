import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from './data-directory.js'
import { openLogFile, tailOf } from './log-file.js'
import { identify, type ProcessIdentity } from './process-identity.js'

export interface ProcessSpec {
  /** Names its pid file and its log, and stands in its environment as SUPERVISED_AS. */
  name: string
  command: string
  args: string[]
  /** The whole environment, besides the marks that are added. */
  env: Record<string, string>
  /** Open directories handed over as file descriptors 3, 4, … */
  directories?: string[]
  /** A living process of another fingerprint is replaced rather than adopted. */
  fingerprint: string
  stopSignal: NodeJS.Signals
  /** Milliseconds from the stop signal to SIGKILL. */
  stopGraceMs: number
  readyWithinMs: number
  /** Runs before each start, never for an adopted process. */
  prepare?(): void | Promise<void>
  /** One attempt to use the process; rejects while it isn't ready. */
  probe(): Promise<void>
  /** Asked when a living one has another fingerprint: false adopts it as it is. Default: replace. */
  mayReplace?(): Promise<boolean>
}

/** What stands in the environment of a supervised process as SUPERVISED_AS: its own, and by inheritance its children's. */
export const supervisedAs = (name: string, data: DataDirectory): string => `${name}@${data.mark}`

/**
 * Starts a process in a session of its own, its output appended to `<data>/log/<name>.log`. `onExit` is called when it
 * ends while this process lives. Throws when there is no such program or it ends at once.
 */
export async function spawnDetached(
  spec: ProcessSpec,
  data: DataDirectory,
  onExit: () => void,
): Promise<ProcessIdentity> {
  const logFile = join(data.log, `${spec.name}.log`)
  const out = openLogFile(logFile)
  const directories = (spec.directories ?? []).map((directory) => openSync(directory, 'r'))
  try {
    const child = spawn(spec.command, spec.args, {
      cwd: '/',
      detached: true,
      stdio: ['ignore', out, out, ...directories],
      env: { ...spec.env, SVC_DATA_MARK: data.mark, SUPERVISED_AS: supervisedAs(spec.name, data) },
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.once('exit', onExit)
    child.unref()
    const identity = child.pid === undefined ? undefined : identify(child.pid)
    if (!identity) throw new Error(`${spec.name} ended at once. From ${logFile}:\n${tailOf(logFile)}`)
    return identity
  } finally {
    for (const file of [out, ...directories]) closeSync(file)
  }
}
