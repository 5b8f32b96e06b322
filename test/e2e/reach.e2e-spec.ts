import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makeCertificate, type TestCertificate } from '#common/testing/certificate.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Access, Client } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { freePorts, TestDaemon } from '../support/daemon.js'

let directory: string
let certificate: TestCertificate
let daemon: TestDaemon
let near: string
let far: string

const page = 'https://console.example'

const connect = async (...args: string[]): Promise<{ base_url: string; token: string }> => {
  const { code, stdout, stderr } = await svc(daemon, ['sys', 'connect', ...args, '--json'])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

const access = (): Promise<Access> => daemon.client().request<Access>('GET', '/v1/access')

const askTls = (url: string) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    const { port, pathname } = new URL(url)
    const headers = { authorization: `Bearer ${daemon.token}` }
    const ca = readFileSync(certificate.cert)
    httpsRequest({ host: '127.0.0.1', port, path: pathname, headers, ca, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
      .on('error', reject)
      .end()
  })

/** What a browser sends of a page, and what it would let the page read. */
const askAsPage = async (baseUrl: string, origin: string) => {
  const response = await fetch(`${baseUrl}/v1/status`, {
    headers: { authorization: `Bearer ${daemon.token}`, origin, 'sec-fetch-site': 'cross-site' },
  })
  return { status: response.status, readableBy: response.headers.get('access-control-allow-origin') }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-reach-'))
  certificate = makeCertificate(directory, 'mine')
  const ports = await freePorts()
  near = `127.0.0.1:${ports[0]}`
  far = `0.0.0.0:${ports[1]}`
  daemon = await TestDaemon.start({ env: { SVC_TLS_CERT_FILE: certificate.cert, SVC_TLS_KEY_FILE: certificate.key } })
})

afterAll(async () => {
  await daemon?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** Everything that was opened serves, and nothing else of it changed. */
const requireOpen = async (): Promise<void> => {
  expect((await new Client({ baseUrl: `http://${near}`, token: daemon.token }).system.status()).ready).toBe(true)
  expect((await askTls(`https://${far}/v1/access`)).status).toBe(200)
  expect(await askAsPage(`http://${near}`, page)).toEqual({ status: 200, readableBy: page })
  expect((await askAsPage(`http://${near}`, 'https://evil.example')).status).toBe(403)
}

describe('svc sys connect --listen and --origin', () => {
  it('open the owner’s API at further addresses and to pages, at once', async () => {
    expect(await connect('--listen', near, '--origin', page)).toEqual({
      base_url: `http://${near}`,
      token: daemon.token,
    })
    expect((await connect('--listen', far)).base_url).toMatch(/^https:\/\//)
    expect((await access()).listen).toEqual([
      { address: near, tls: false, state: 'open', detail: null },
      { address: far, tls: true, state: 'open', detail: null },
    ])
    await requireOpen()
  })

  it('say why an address can’t be opened, and change nothing', async () => {
    const before = await access()
    const { code, stderr } = await svc(daemon, ['sys', 'connect', '--listen', '203.0.113.77:7999'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('this machine has no such address')])
    expect(await access()).toEqual(before)
  })

  it('leave nodes their way, which is loopback without TLS', async () => {
    const program = { prompt: 'go', engine: 'exec' as const, exec: { argv: ['true'] }, cwd: daemon.workDir }
    expect((await daemon.client().nodes.createAndWait(program)).status).toBe('done')
  })

  it('hold over a stop and a start, and over a kill', async () => {
    expect((await svc(daemon, ['sys', 'down'])).code).toBe(0)
    await expect(askTls(`https://${far}/v1/access`)).rejects.toThrow('ECONNREFUSED')
    await daemon.start()
    await requireOpen()
    const { pid } = (await waitFor(() => daemon.processes.find('daemon'))) as { pid: number }
    process.kill(pid, 'SIGKILL')
    await daemon.startAgain()
    await requireOpen()
  })

  it('are taken back one by one, or all at once', async () => {
    expect((await svc(daemon, ['sys', 'access', 'close', far])).code).toBe(0)
    await expect(askTls(`https://${far}/v1/access`)).rejects.toThrow('ECONNREFUSED')
    const { stdout } = await svc(daemon, ['sys', 'access', 'list'])
    expect([stdout.includes(near), stdout.includes(page), stdout.includes(far)]).toEqual([true, true, false])
    expect((await svc(daemon, ['sys', 'access', 'close', '--all'])).code).toBe(0)
    expect((await askAsPage(daemon.baseUrl, page)).status).toBe(403)
  })
})

describe('a start with a certificate that is of no use', () => {
  it('is refused, and says why', async () => {
    const { key } = makeCertificate(directory, 'strange')
    const other = await TestDaemon.prepare({ env: { SVC_TLS_CERT_FILE: certificate.cert, SVC_TLS_KEY_FILE: key } })
    await expect(other.start()).rejects.toThrow(`The key ${key} is not that of ${certificate.cert}.`)
    await other.stop()
  })
})
