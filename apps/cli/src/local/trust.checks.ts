import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Access, App, AuditPage, Client, Token } from '#sdk/index.js'
import { verify } from '../audit/audit.chain.js'
import { localDaemon } from './data-directory.js'
import type { Finding } from './finding.js'

/** Files that a token stands in: read by whom they belong to and by nobody else. */
export const tokenFileChecks = (env: NodeJS.ProcessEnv): Finding[] => {
  const files = [join(localDaemon(env).dataDir, 'owner.token'), env.SVC_TOKEN_FILE].flatMap((path) => path || [])
  const found = files.flatMap((path) => {
    const mode = modeOf(path)
    return mode === undefined ? [] : [{ path, mode }]
  })
  const open = found.filter(({ mode }) => (mode & 0o077) !== 0)
  if (found.length === 0) return []
  if (open.length === 0) return [{ name: 'token files', state: 'ok', detail: 'for their owner alone' }]
  return open.map(({ path, mode }) => ({
    name: 'token files',
    state: 'fail',
    detail: `${path} can be read by others (mode ${(mode & 0o777).toString(8)})`,
    remedy: `chmod 600 ${path}, and replace the token, which others may have read: svc sys tokens list, svc sys tokens rotate <id>`,
  }))
}

const modeOf = (path: string): number | undefined => {
  try {
    return statSync(path).mode
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Who can reach the daemon, with what, and for how long. */
export const trustChecks = async (client: Client): Promise<Finding[]> => {
  const [access, tokens, expired, apps] = await Promise.all([
    client.request<Access>('GET', '/v1/access'),
    client.tokens.list({ status: 'active', limit: 200 }).page,
    client.tokens.list({ status: 'expired', limit: 200 }).page,
    client.apps.list({ limit: 200 }).page,
  ])
  return [
    listenerCheck(access),
    tokenCheck(tokens.data, expired.data),
    ...appChecks(apps.data),
    await auditCheck(client),
  ]
}

/** As many lines as come in one answer; `svc sys audit --verify` looks at all. */
const newest = 200

const auditCheck = async (client: Client): Promise<Finding> => {
  const read = (sinceSeq: number): Promise<AuditPage> =>
    client.request('GET', `/v1/audit?order=oldest&limit=${newest}&since_seq=${sinceSeq}`)
  const { head } = await client.request<AuditPage>('GET', '/v1/audit?limit=1')
  const page = await read(Math.max(0, head.seq - newest))
  const [first] = page.data
  // where it doesn't begin with the beginning, its first line is taken as it is
  const begins = first === undefined || first.seq === page.anchor.seq + 1
  const start = begins ? page : { ...page, anchor: { seq: first.seq, hash: first.hash }, data: page.data.slice(1) }
  const { verified, broken_at } = await verify((sinceSeq) => (sinceSeq === 0 ? Promise.resolve(start) : read(sinceSeq)))
  return broken_at === null
    ? { name: 'audit', state: 'ok', detail: `the newest ${verified} lines hold` }
    : {
        name: 'audit',
        state: 'fail',
        detail: `line ${broken_at} was changed or taken out after it was written`,
        remedy: 'svc sys audit --verify, and compare the database with a backup of before',
      }
}

const isPlain = (url: string): boolean =>
  url.startsWith('http:') && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname)

const listenerCheck = ({ listen, base_urls, app_base_url }: Access): Finding => {
  const name = 'listeners'
  const failed = listen
    .filter(({ state }) => state === 'failed')
    .map(({ address, detail }) => `${address} is not open: ${detail}`)
  const plain = [...new Set([...base_urls, app_base_url])].filter(isPlain)
  const warned = listen.filter(({ tls, detail }) => tls && detail).map(({ address, detail }) => `${address}: ${detail}`)
  if (plain.length)
    return {
      name,
      state: 'warn',
      detail: `other machines are answered without TLS at ${plain.join(', ')}: whoever is on the way reads the tokens`,
      remedy: 'set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or put a proxy with TLS before a loopback address',
    }
  if (failed.length || warned.length)
    return { name, state: 'warn', detail: [...failed, ...warned].join('; '), remedy: 'svc sys access list' }
  return {
    name,
    state: 'ok',
    detail: listen.length ? 'other machines are answered with TLS' : 'this machine alone is answered',
  }
}

const tokenCheck = (active: readonly Token[], expired: readonly Token[]): Finding => {
  const ofApps = active.filter(({ kind }) => kind !== 'own')
  const endless = ofApps.filter(({ kind, expires_at }) => kind === 'app' && expires_at === null)
  const counts = `${ofApps.length} of apps work, ${expired.length} have expired`
  if (endless.length === 0) return { name: 'tokens', state: 'ok', detail: counts }
  return {
    name: 'tokens',
    state: 'warn',
    detail: `${counts}; ${endless.length} never expire: ${endless.map(({ id, label }) => label ?? id).join(', ')}`,
    remedy: 'svc sys connect --app <app> --expires 90d for another, then svc sys tokens revoke <id>',
  }
}

const appChecks = (apps: readonly App[]): Finding[] => {
  const idle = apps.filter(({ grant, tokens }) => grant.status === 'active' && tokens === 0)
  if (apps.length === 0) return []
  if (idle.length === 0) return [{ name: 'apps', state: 'ok', detail: `${apps.length} registered` }]
  return [
    {
      name: 'apps',
      state: 'warn',
      detail: `no token works for ${idle.map(({ name }) => name).join(', ')}`,
      remedy: 'svc sys connect --app <app> for a new one, or svc app remove <app>',
    },
  ]
}
