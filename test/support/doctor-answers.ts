const page = { data: [], next_cursor: null, has_more: false }
const nowhere = { seq: 0, hash: '0'.repeat(64) }

/** What a daemon answers of who may reach it, when there is nothing to say about it. */
export const trusted: Readonly<Record<string, unknown>> = {
  '/v1/access': {
    listen: [],
    base_urls: ['http://127.0.0.1:7420'],
    app_base_url: 'http://127.0.0.1:7421',
    hosts: [],
    origins: [],
    version: 1,
    updated_at: '2026-01-01T00:00:00.000Z',
  },
  '/v1/tokens': page,
  '/v1/apps': page,
  '/v1/audit': { ...page, anchor: nowhere, head: nowhere },
}

/** What `svc sys doctor` asks besides, of a daemon that is well. */
export const well: Readonly<Record<string, unknown>> = {
  ...trusted,
  '/v1/status': {
    version: '0.1.0',
    ready: true,
    started_at: '2026-01-01T00:00:00.000Z',
    base_url: 'http://127.0.0.1:7420',
    parts: [{ name: 'host', state: 'ready', detail: null, version: '0.1.0' }],
    nodes: {},
    brokers: { live: 0, warm: 1, cap: 8 },
    sandbox: [],
    limits: {},
  },
  '/v1/sandbox': { hosts: [], sentence: '', consent: null },
  '/v1/model-auth/readiness': { ready: false, providers: [], strengths: [], remedy: 'add one' },
}
