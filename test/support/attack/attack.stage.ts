import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TestRepository } from '#apps/host/src/worktree/repository.fixture.js'
import { version } from '#common/kernel/version.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Node, NodeEvent } from '#sdk/index.js'
import { TestDaemon } from '../daemon.js'
import { processNames, textOf } from '../daemon-processes.js'

/** What a try came to, as the program inside wrote it. */
export interface Try {
  readonly group: string
  readonly name: string
  readonly why: string
  readonly held: boolean
  readonly said: string
}

/** Whether this machine can hold programs at all; else there is nothing to attack. */
export const bubblewrapWorks = (): boolean =>
  spawnSync('bwrap', ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true']).status === 0

const started = ['.bashrc', '.profile', '.zshrc', '.gitconfig']
const credentials = ['.ssh/id_ed25519', '.netrc', '.aws/credentials', '.gnupg/private.key']

/** A person's machine: their home with the daemon in it, a node with secrets, and directories for nodes that attack. */
export class AttackStage {
  readonly work: string
  readonly victimDir: string
  readonly repository: TestRepository
  /** In each of the secrets that are no node's business but the victim's. */
  readonly hint = `svc-attack-${process.pid}`
  readonly canary = `${this.hint}-${randomUUID()}`
  /** In the command lines of what an attacker leaves behind. */
  readonly word = `left-by-${this.hint}`
  victim!: Node
  #jobId = ''
  #questionId = ''
  #attachmentId = ''
  #cronId = ''

  private constructor(
    readonly daemon: TestDaemon,
    readonly home: string,
  ) {
    this.work = join(home, 'work')
    this.victimDir = join(this.work, 'victim')
    mkdirSync(this.victimDir, { recursive: true })
    writeFileSync(join(this.victimDir, 'secret.txt'), this.canary)
    for (const name of [...started, ...credentials]) {
      mkdirSync(join(home, name, '..'), { recursive: true })
      writeFileSync(join(home, name), credentials.includes(name) ? this.canary : '# mine\n')
    }
    this.repository = new TestRepository('private', this.work)
    this.repository.write('secret.txt', this.canary)
    this.repository.commit('secret')
  }

  static async start(): Promise<AttackStage> {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-attack-')))
    const dataDir = join(home, '.local/share/svc')
    mkdirSync(dataDir, { recursive: true })
    const stage = new AttackStage(await TestDaemon.start({ dataDir, env: { HOME: home } }), home)
    await stage.#startVictim()
    return stage
  }

  get dataDir(): string {
    return this.daemon.data.path
  }

  /** Everything that no attacker may ever hold in hands. */
  secretValues(): string[] {
    const files = this.#secretFiles().filter((path) => /owner\.token|\/keys\/|\.password$/.test(path))
    return [this.canary, ...files.map((path) => readFileSync(path, 'utf8').trim())]
  }

  /** A repository for a node to attack from, with the program that does. */
  attackerDir(name: string): string {
    const { root } = new TestRepository(name, this.work)
    new TestRepository('nested', root)
    this.arm(root)
    return root
  }

  /** Puts the program and what it knows into a directory. */
  arm(directory: string): void {
    const { foreign, ...targets } = this.#targets()
    const beyond = foreign.filter((path) => path.startsWith(this.dataDir) || !path.startsWith(`${directory}/`))
    cpSync('test/support/attack', directory, { recursive: true, filter: (path) => !path.endsWith('.ts') })
    writeFileSync(join(directory, 'targets.json'), JSON.stringify({ ...targets, foreign: beyond }))
  }

  /** Runs groups of tries in a node that works there, with these scopes too; answers what came of each. */
  async attack(cwd: string, groups: readonly string[], more: readonly string[] = []): Promise<Try[]> {
    const outcome = await this.daemon.client().nodes.createAndWait({
      prompt: 'attack',
      cwd,
      engine: 'exec',
      lifecycle: 'terminal',
      scopes: ['svc:llm', 'svc:act', ...more],
      exec: { argv: ['node', 'run.mjs', ...groups] },
    })
    if (outcome.status !== 'done') throw new Error(`the attacker ended: ${JSON.stringify(outcome)}`)
    const lines = readFileSync(join(cwd, 'tries.jsonl'), 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line) as Try)
  }

  async stop(): Promise<void> {
    await this.daemon.stop()
    rmSync(this.home, { recursive: true, force: true })
  }

  async #startVictim(): Promise<void> {
    const script = 'echo "$WORD" > ~/secret.txt; echo "$WORD" > /tmp/secret.txt; touch ready; sleep 600'
    const { nodes } = this.daemon.client()
    this.victim = await nodes.create({
      ...{ prompt: `keep ${this.canary}`, cwd: this.victimDir, engine: 'exec' },
      exec: { argv: ['bash', '-c', script], env: { WORD: this.canary } },
      attachments: [{ name: 'secret.txt', text: this.canary }],
    })
    await waitFor(() => readdirSync(this.victimDir).includes('ready'), { what: 'the victim' })
    const job = await this.owner<{ id: string }>(`/v1/nodes/${this.victim.id}/jobs`, {
      command: 'cat secret.txt; sleep 600',
    })
    this.#jobId = job.id
    const question = await this.owner<{ id: string }>('/v1/human/requests', {
      ...{ title: this.canary, node_id: this.victim.id },
      pages: [{ id: 'one', kind: 'decision', title: this.canary, allowFreetext: true }],
    })
    this.#questionId = question.id
    const cron = await this.owner<{ id: string }>('/v1/crons', {
      ...{ name: this.canary, owner_node_id: this.victim.id, schedule: { every: 3600 } },
      action: { type: 'message', node_id: this.victim.id, body: this.canary },
    })
    this.#cronId = cron.id
    const [made] = (await take(nodes.events(this.victim.id), ({ type }) => type === 'node.created')) as [NodeEvent]
    this.#attachmentId = (made.data.attachments as [{ id: string }])[0].id
    await this.owner('/v1/nodes', this.#ownersRequest, 'key-of-the-owner')
    await this.owner('/v1/bash', this.#ownersCommand, 'key-of-the-owner')
  }

  /** @throws Error unless it is answered with success. */
  async owner<T>(path: string, body: object, key?: string): Promise<T> {
    const headers = { authorization: `Bearer ${this.daemon.token}`, 'content-type': 'application/json' }
    const response = await fetch(this.daemon.baseUrl + path, {
      method: 'POST',
      headers: { ...headers, ...(key && { 'idempotency-key': key }) },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text) as T
  }

  get #ownersRequest() {
    return { prompt: 'go', cwd: this.victimDir, engine: 'exec', exec: { argv: ['true'] } }
  }

  get #ownersCommand() {
    return { cwd: this.victimDir, command: 'cat secret.txt' }
  }

  #secretFiles(): string[] {
    const listed = ['keys', 'secrets'].flatMap((name) =>
      readdirSync(join(this.dataDir, name)).map((file) => join(this.dataDir, name, file)),
    )
    return [join(this.dataDir, 'owner.token'), ...listed]
  }

  #foreign(): string[] {
    const own = join(this.dataDir, 'nodes', this.victim.id)
    return [
      ...[this.victimDir, join(own, 'home'), join(own, 'tmp'), this.repository.root].map((at) =>
        join(at, 'secret.txt'),
      ),
      join(this.dataDir, 'jobs', this.#jobId, 'job.json'),
    ]
  }

  #targets() {
    const { processes } = this.daemon
    const named = processNames.map((name) => [name, processes.find(name)?.pid as number] as const)
    const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    const perl = spawnSync('perl', ['-v']).status === 0
    if (!perl) console.warn('LEFT OUT: the tries by system calls, which need Perl.')
    return {
      perl,
      ...{ dataDir: this.dataDir, home: this.home, hint: this.hint, word: this.word, version, started, credentials },
      secrets: this.#secretFiles(),
      foreign: this.#foreign(),
      repository: this.repository.root,
      sockets: this.#sockets(),
      natsPort: listenersOf(processes.find('nats')?.pid as number)[0],
      pids: { ...Object.fromEntries(named), broker: processes.brokers()[0]?.pid },
      victim: {
        ...{ id: this.victim.id, cwd: this.victimDir, jobId: this.#jobId },
        ...{ questionId: this.#questionId, attachmentId: this.#attachmentId, cronId: this.#cronId },
      },
      ownersRequest: { body: this.#ownersRequest, key: 'key-of-the-owner' },
      ownersCommand: { body: this.#ownersCommand, key: 'key-of-the-owner' },
      routes: Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => ({
          name: operationId,
          method: method.toUpperCase(),
          path,
        })),
      ),
    }
  }

  #sockets(): string[] {
    const run = join(this.dataDir, 'run')
    const entries = readdirSync(run, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isSocket()).map((entry) => join(entry.parentPath, entry.name))
  }
}

/** Ports of TCP that a process listens on. */
export const listenersOf = (pid: number): number[] => {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1]),
  )
  const lines = ['tcp', 'tcp6'].flatMap((name) => textOf(`/proc/${pid}/net/${name}`).split('\n'))
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/)
    return state === '0A' && inodes.has(inode) ? [Number.parseInt(local?.split(':')[1] as string, 16)] : []
  })
}

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    // Closed since it was listed.
    return ''
  }
}
