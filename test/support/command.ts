import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import type { TestDaemon } from './daemon.js'

export interface CommandEnd {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program to its end, without a terminal; never throws for its exit code. */
export const run = (
  program: string,
  args: readonly string[],
  { env = process.env, cwd = projectRoot, input }: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {},
): Promise<CommandEnd> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input ?? '')
  })

/** The built `svc`, as the person who runs this daemon types it. */
export const svc = (
  daemon: TestDaemon,
  args: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): Promise<CommandEnd> =>
  run(join(projectRoot, 'bin/svc'), args, {
    env: { ...daemon.env, SVC_BASE_URL: daemon.baseUrl, ...options.env },
    cwd: daemon.workDir,
    ...(options.input !== undefined && { input: options.input }),
  })
