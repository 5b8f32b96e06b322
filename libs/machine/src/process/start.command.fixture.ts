import { execFileSync } from 'node:child_process'
import { accessSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxPlan } from '../sandbox/sandbox.plan.js'
import type { Command, CommandEnd, RunningCommand } from './command.js'
import { startCommand } from './start.command.js'

export const bwrap = '/usr/bin/bwrap'

export const hasBubblewrap = ((): boolean => {
  try {
    accessSync(bwrap)
    return true
  } catch {
    return false
  }
})()

/** Since which bubblewrap takes open files is not told by its version: some were repaired. */
export const takesOpenFiles =
  hasBubblewrap && execFileSync(bwrap, ['--help'], { encoding: 'utf8' }).includes('--ro-bind-fd')

/** Directories of a node and of the person, and programs that are run in them. */
export class Ground {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-command-')))
  readonly cwd = this.#directory('person/work')
  readonly home = this.#directory('data/node/home')
  readonly temporary = this.#directory('data/node/tmp')
  #count = 0

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  plan(more: Partial<SandboxPlan> = {}): SandboxPlan {
    return {
      level: 'bubblewrap',
      bwrap,
      nestingRefused: true,
      takesOpenFiles,
      mounts: [{ path: this.cwd, mode: 'write' }],
      frozen: [],
      hidden: [],
      system: ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc'],
      home: this.home,
      homeAt: '/home/person',
      temporary: this.temporary,
      env: { PATH: '/usr/bin:/bin' },
      limits: { processes: 500, memoryBytes: 1024 ** 3 },
      ...more,
    }
  }

  start(argv: Command['argv'], more: Partial<Command> = {}): RunningCommand & { readonly mark: string } {
    this.#count += 1
    const mark = `ground:${process.pid}/${this.#count}`
    const running = startCommand({
      argv,
      cwd: this.cwd,
      env: {},
      plan: this.plan(),
      mark: { name: 'SVC_TEST_MARK', value: mark },
      input: false,
      onStdout: () => undefined,
      onStderr: () => undefined,
      ...more,
    })
    return Object.assign(running, { mark })
  }

  /** Runs to the end; answers also what was printed. */
  async run(
    argv: Command['argv'],
    more: Partial<Command> = {},
    stdin?: string,
  ): Promise<CommandEnd & { stdout: string; stderr: string }> {
    const said = { stdout: '', stderr: '' }
    const running = this.start(argv, {
      input: stdin !== undefined,
      onStdout: (chunk) => {
        said.stdout += chunk.toString()
      },
      onStderr: (chunk) => {
        said.stderr += chunk.toString()
      },
      ...more,
    })
    if (stdin !== undefined) {
      running.write(stdin)
      running.closeInput()
    }
    return { ...(await running.ended), ...said }
  }

  bash(script: string, more: Partial<Command> = {}) {
    return this.run(['bash', '-c', script], more)
  }

  #directory(path: string): string {
    const directory = join(this.root, path)
    mkdirSync(directory, { recursive: true })
    return directory
  }
}
