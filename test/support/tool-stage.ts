import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
import { ConfinedFiles } from '../../apps/broker/src/tools/confined.path.js'
import { SeenFiles } from '../../apps/broker/src/tools/file.seen.js'
import type { Tool, ToolResult } from '../../apps/broker/src/tools/tool.js'
import type { SandboxPlan } from '../../libs/machine/src/sandbox/sandbox.plan.js'

/** A node's working directory with real files in it, new for each test. */
export interface ToolStage {
  home: string
  cwd: string
  files: ConfinedFiles
  seen: SeenFiles
  put(name: string, content: string | Uint8Array): string
  get(name: string): string
}

export const setToolStage = (): ToolStage => {
  const stage = {} as ToolStage
  beforeEach(() => {
    stage.home = mkdtempSync(join(tmpdir(), 'svc-tools-'))
    stage.cwd = join(stage.home, 'work')
    mkdirSync(stage.cwd)
    mkdirSync(join(stage.home, 'scratch'))
    stage.files = new ConfinedFiles(stage.cwd, join(stage.home, 'scratch'))
    stage.seen = new SeenFiles()
    stage.put = (name, content) => {
      const path = join(stage.cwd, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
      return path
    }
    stage.get = (name) => readFileSync(join(stage.cwd, name), 'utf8')
  })
  afterEach(() => rmSync(stage.home, { recursive: true, force: true }))
  return stage
}

/** A plan that holds nothing back: what a tool does is looked at, not what its sandbox does. */
export const openPlan = (stage: ToolStage): SandboxPlan => ({
  level: 'none',
  mounts: [{ path: stage.cwd, mode: 'write' }],
  frozen: [],
  hidden: [],
  system: [],
  home: stage.home,
  homeAt: stage.home,
  temporary: tmpdir(),
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  limits: { processes: 100, memoryBytes: 1024 ** 3 },
})

export const runTool = (tool: Tool, input: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult> =>
  tool.run(input, {
    turn: 1,
    callId: 'c1',
    repeated: false,
    signal: signal ?? new AbortController().signal,
    tell: () => undefined,
  })

export const outputOf = async (tool: Tool, input: Record<string, unknown>): Promise<string> =>
  (await runTool(tool, input)).output
