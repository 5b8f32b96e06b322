import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { SandboxGround } from '../sandbox/sandbox.ground.js'
import { findSandboxLevel } from '../sandbox/sandbox.level.js'

const identity = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
} as const

export type TestGround = Pick<SandboxGround, 'level'>

/** What the machine of the test can hold git with. */
export const groundOfMachine = async (): Promise<TestGround> => ({
  level: await findSandboxLevel('auto', async () => 'not tried'),
})

/** A real repository with one commit, as a person has one. */
export class TestRepository {
  readonly root: string

  constructor(
    name = 'project',
    private readonly home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-git-'))),
  ) {
    this.root = join(home, name)
    mkdirSync(this.root)
    this.git('init', '-q', '-b', 'main')
    this.write('src/a.txt', 'one\n')
    this.write('.gitignore', '*.log\n')
    this.commit('first')
  }

  get gitDir(): string {
    return join(this.root, '.git')
  }

  /** @throws Error when git fails */
  git(...args: string[]): string {
    return gitIn(this.root, ...args)
  }

  write(path: string, text: string): void {
    writeIn(this.root, path, text)
  }

  commit(message: string): string {
    this.git('add', '-A')
    this.git('commit', '-q', '-m', message)
    return this.git('rev-parse', 'HEAD')
  }

  branches(): string[] {
    return this.git('for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')
  }

  /** What a person sees of their own checkout: branch, index and files. */
  mine(): string {
    return [
      this.git('rev-parse', '--symbolic-full-name', 'HEAD'),
      this.git('ls-files', '-s'),
      this.git('status', '-s'),
    ].join('\n')
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Git as a person, or a node that may do as it likes, runs it in a directory. */
export const gitIn = (directory: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, ...identity },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

export const writeIn = (directory: string, path: string, text: string): void => {
  mkdirSync(dirname(join(directory, path)), { recursive: true })
  writeFileSync(join(directory, path), text)
}
