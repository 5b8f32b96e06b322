import type { OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import type { Authority } from '#common/contract/work.internal.js'
import { appPrincipal, systemContext } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import type { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

export type Action = Record<string, unknown> & { type: string }
type Work = OutputOf<(typeof contract)['lifecycle.work.states']>['works'][number]

/** As a token of the runtime holds them. */
export const held = ['svc:act', 'svc:llm', 'svc:memory:rw:user', 'svc:schedule']

export const byOwner: Authority = {
  kind: 'owner',
  principal: 'owner',
  node_id: null,
  app_id: null,
  profile: null,
  scopes: ['*'],
}

export const byNode = (id: string, scopes: readonly string[] = held): Authority => ({
  ...byOwner,
  kind: 'node',
  principal: `node:${id}`,
  node_id: id,
  scopes: [...scopes],
})

export const byApp = (appId: string, scopes: readonly string[] = held, profile: string | null = null): Authority => ({
  ...byOwner,
  kind: 'app',
  principal: appPrincipal(appId, profile),
  app_id: appId,
  profile,
  scopes: [...scopes],
})

let slots = 0
export const newKey = (): string => {
  slots += 60_000
  return `${newId('cron')}:${slots}`
}

export const newNode = (more: Record<string, unknown> = {}): Action => ({
  type: 'create_node',
  prompt: 'do it',
  engine: 'exec',
  exec: { argv: ['true'], stdin: 'jsonl' },
  cwd: '/tmp',
  ...more,
})

export const message = (id: string, more: Record<string, unknown> = {}): Action => ({
  type: 'message',
  node_id: id,
  body: 'wake up',
  ...more,
})

export const command = (cwd: string): Action => ({ type: 'bash', cwd, command: 'true' })

/** The scheduler's side of it. */
export class Asking {
  constructor(private readonly lifecycle: LifecycleUnderTest) {}

  check(by: Authority, action: Action) {
    return this.lifecycle.call('lifecycle.work.check', { by, action }, systemContext('scheduler'))
  }

  start(by: Authority, action: Action, key = newKey()) {
    return this.lifecycle.call('lifecycle.work.start', { key, by, action }, systemContext('scheduler'))
  }

  actor(by: Authority) {
    return this.lifecycle.call('lifecycle.work.actor', { by }, systemContext('scheduler'))
  }

  async states(...keys: string[]): Promise<Work[]> {
    return (await this.lifecycle.call('lifecycle.work.states', { keys }, systemContext('scheduler'))).works
  }

  async state(key: string): Promise<Work> {
    return (await this.states(key))[0] as Work
  }

  /** Version 1 grants these; later ones change it. */
  async grant(appId: string, scopes: readonly string[], more: Record<string, unknown> = {}): Promise<void> {
    const grant = { app_id: appId, scopes, profiles: null, version: 1, status: 'active', ...more }
    await this.lifecycle.call('lifecycle.grant.changed', { grants: [grant] }, systemContext('gateway'))
  }

  async count(table: string): Promise<number> {
    const [row] = await this.lifecycle.database.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`)
    return row?.rows ?? -1
  }
}
