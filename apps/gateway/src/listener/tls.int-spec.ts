import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { connect as connectPlain, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Settings } from '#common/kernel/config.js'
import { makeCertificate, replaceCertificate, type TestCertificate } from '#common/testing/certificate.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'
import { TlsIdentity } from './tls.identity.js'

let directory: string
let served: TestCertificate
let gateway: TestGateway
let wire: WireLifecycle
let database: TestDatabase
let port: number

const freePort = async (): Promise<number> => {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const { port: free } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return free
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-tls-'))
  served = makeCertificate(directory, 'served')
  wire = await WireLifecycle.start(testNats().url)
  database = await testDatabase()
  gateway = await TestGateway.start(testNats().url, database, {
    SVC_TLS_CERT_FILE: served.cert,
    SVC_TLS_KEY_FILE: served.key,
    SVC_TRUSTED_PROXIES: '127.0.0.1',
  })
  port = await freePort()
  await gateway.ask({ method: 'PATCH', path: '/v1/access', body: { listen: [`0.0.0.0:${port}`] } })
})

afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const fingerprintAt = async (options: ConnectionOptions = {}): Promise<string> => {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const askTls = (path: string, token?: string) =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const headers = { ...(token && { authorization: `Bearer ${token}` }) }
    httpsRequest(
      { host: '127.0.0.1', port, path, headers, ca: readFileSync(served.cert), agent: false },
      (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          reject,
        )
      },
    )
      .on('error', reject)
      .end()
  })

const detail = async (): Promise<string | null> => (await gateway.ask({ path: '/v1/access' })).body.listen[0].detail

describe('a listener that other machines reach', () => {
  it('serves TLS with the certificate that was named, and binds browsers to it', async () => {
    const { status, headers } = await askTls('/v1/access', gateway.token)
    expect([status, headers['strict-transport-security']]).toEqual([200, 'max-age=2592000'])
    expect((await askTls('/%E0%A4%A')).headers['strict-transport-security']).toBe('max-age=2592000')
  })

  it('tells its addresses with their scheme, this machine’s own first', async () => {
    const { body } = await gateway.ask({ path: '/v1/access' })
    expect(body.listen).toEqual([{ address: `0.0.0.0:${port}`, tls: true, state: 'open', detail: null }])
    expect(body.base_urls[0]).toBe(gateway.base)
    expect(body.base_urls.slice(1).every((url: string) => /^https:\/\/[\d.]+:\d+$/.test(url))).toBe(true)
  })

  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      await expect(fingerprintAt({ minVersion: version, maxVersion: version })).resolves.toBeDefined()
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const
    await expect(fingerprintAt(old)).rejects.toThrow()
  })

  it('answers nobody who speaks plainly', async () => {
    const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect(await text(socket).catch(() => '')).not.toContain('HTTP/1.1')
  })

  it('leaves loopback as it was, for brokers and commands', async () => {
    const { status, headers } = await gateway.ask({ path: '/healthz' })
    expect([status, headers['strict-transport-security']]).toEqual([200, undefined])
  })
})

describe('a certificate that is replaced', () => {
  it('is served within a second or two', async () => {
    const before = await fingerprintAt()
    replaceCertificate(served, makeCertificate(directory, 'renewed'))
    await waitFor(async () => (await fingerprintAt()) !== before, { timeout: 3000 })
    expect((await askTls('/healthz')).status).toBe(200)
    expect(await detail()).toBeNull()
  })

  it('by what does not fit is not, and the owner is told', async () => {
    const before = await fingerprintAt()
    copyFileSync(makeCertificate(directory, 'stranger').key, served.key)
    await waitFor(async () => (await detail())?.includes('is not that of'), { timeout: 3000 })
    expect(await fingerprintAt()).toBe(before)
    const { body } = await gateway.ask({ path: '/v1/status' })
    expect(body.parts).toContainEqual(expect.objectContaining({ name: `listener 0.0.0.0:${port}`, state: 'degraded' }))
    replaceCertificate(served, makeCertificate(directory, 'mended'))
    await waitFor(async () => (await detail()) === null, { timeout: 3000 })
  })

  // Looking at a file whose directory had become unreadable threw in a timer, and took the daemon with it.
  it('by what can not even be looked at is not, and the owner is told', async () => {
    const before = await fingerprintAt()
    renameSync(served.cert, `${served.cert}.away`)
    symlinkSync(served.cert, served.cert)
    await waitFor(async () => (await detail())?.includes('ELOOP'), { timeout: 3000 })
    expect(await fingerprintAt()).toBe(before)
    renameSync(`${served.cert}.away`, served.cert)
    await waitFor(async () => (await detail()) === null, { timeout: 3000 })
  })

  it('by one that is about to end is served, and the owner is told', async () => {
    replaceCertificate(served, makeCertificate(directory, 'brief', 3))
    await waitFor(async () => /^The certificate ends on \d{4}-\d\d-\d\d\.$/.test((await detail()) ?? ''), {
      timeout: 3000,
    })
    replaceCertificate(served, makeCertificate(directory, 'lasting'))
    await waitFor(async () => (await detail()) === null, { timeout: 3000 })
  })
})

describe('a start', () => {
  const identity = (cert: string | undefined, key: string | undefined) =>
    TlsIdentity.of({ SVC_TLS_CERT_FILE: cert, SVC_TLS_KEY_FILE: key } as Settings)

  it('is refused with files that can’t be served with, and says which', () => {
    const [one, other] = [makeCertificate(directory, 'one'), makeCertificate(directory, 'other')]
    const garbled = join(directory, 'garbled.pem')
    writeFileSync(garbled, 'nothing of the kind')
    expect(() => identity(one.cert, undefined)).toThrow('TLS needs both SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE.')
    expect(() => identity(one.cert, join(directory, 'none'))).toThrow(/The key .*none can't be read \(ENOENT\)/)
    expect(() => identity(one.cert, other.key)).toThrow(`The key ${other.key} is not that of ${one.cert}.`)
    expect(() => identity(garbled, one.key)).toThrow(`${garbled} holds no certificate in PEM`)
    expect(() => identity(one.cert, garbled)).toThrow(`${garbled} holds no key without a passphrase in PEM`)
    expect(identity(undefined, undefined)).toBeNull()
  })

  it('is refused where brokers and commands would be told an address that speaks TLS', async () => {
    const one = makeCertificate(directory, 'first')
    const data = mkdtempSync(join(tmpdir(), 'svc-tls-data-'))
    chmodSync(data, 0o700)
    const settings = {
      ...gateway.settings,
      SVC_DATA_DIR: data,
      SVC_OWNER_TOKEN_FILE: join(gateway.settings.SVC_DATA_DIR, 'owner.token'),
      SVC_OWNER_LISTEN: `0.0.0.0:${await freePort()}`,
      SVC_TLS_CERT_FILE: one.cert,
      SVC_TLS_KEY_FILE: one.key,
    }
    await expect(TestGateway.run(settings)).rejects.toThrow(/would serve TLS, while nodes and commands are told http:/)
    rmSync(data, { recursive: true, force: true })
  })
})

describe('a listener without TLS that other machines reach', () => {
  it('is opened when the owner says so, with a warning', async () => {
    const plain = await TestGateway.start(testNats().url, await testDatabase())
    const address = `0.0.0.0:${await freePort()}`
    const { status, body } = await plain.ask({ method: 'PATCH', path: '/v1/access', body: { listen: [address] } })
    expect([status, body.listen[0]]).toEqual([
      200,
      {
        address,
        tls: false,
        state: 'open',
        detail: expect.stringMatching(/^Tokens and data cross the network unencrypted/),
      },
    ])
    expect((await plain.ask({ path: '/healthz', headers: { host: '192.168.77.7:7420' } })).status).toBe(200)
    expect((await plain.ask({ path: '/healthz', headers: { host: 'evil.example' } })).status).toBe(403)
    await plain.stop()
  })
})

describe('a trusted proxy', () => {
  const ask = (headers: Record<string, string>) => gateway.ask({ path: '/healthz', headers })

  it('says that its client’s connection is encrypted, and by which name it called', async () => {
    const { headers } = await ask({ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'localhost' })
    expect(headers['strict-transport-security']).toBe('max-age=2592000')
    expect((await ask({ 'x-forwarded-host': 'evil.example' })).body.code).toBe('host_forbidden')
  })

  it('says who its client is, as the audit log has it', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.9', 'x-request-id': 'from-afar' }
    await gateway.ask({ path: '/v1/tokens', token: gateway.nodeToken(wire.create()), headers })
    const lines = async () => (await gateway.ask({ path: '/v1/audit' })).body.data as { request_id: string }[]
    const line = await waitFor(async () => (await lines()).find(({ request_id: id }) => id === 'from-afar'))
    expect(line).toMatchObject({ remote: '203.0.113.9', decision: 'denied' })
  })
})
