import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makeCertificate } from '../../../libs/common/src/testing/certificate.js'
import { SvcCommand } from '../../../test/support/svc-command.js'
import { json, problem, WireServer } from '../../../test/support/wire-server.js'

const secret = 'svc_own_verysecret'

describe('the token of svc', () => {
  let svc: SvcCommand
  let file: string

  beforeAll(async () => {
    svc = await SvcCommand.start()
    file = join(svc.dataDir, 'token')
    writeFileSync(file, `${secret}\n`)
  })
  afterAll(() => svc.stop())

  it('may be in a file that SVC_TOKEN_FILE names; SVC_TOKEN and --token go before it', async () => {
    const sent = async (args: string[], env: Record<string, string>): Promise<string | undefined> => {
      svc.wire.says(json({}))
      await svc.run(['model', 'list', '--json', ...args], { env: { SVC_TOKEN_FILE: file, ...env } })
      return svc.wire.only.headers.authorization
    }
    expect(await sent([], { SVC_TOKEN: '' })).toBe(`Bearer ${secret}`)
    expect(await sent([], {})).toBe('Bearer svc_own_x')
    expect(await sent(['--token', 'svc_own_flag'], {})).toBe('Bearer svc_own_flag')
  })

  it('is missing where that file is empty or not there, and nothing is sent', async () => {
    writeFileSync(join(svc.dataDir, 'empty'), '\n')
    svc.wire.says(json({}))
    for (const name of ['empty', 'nowhere']) {
      const env = { SVC_TOKEN: '', SVC_TOKEN_FILE: join(svc.dataDir, name) }
      expect((await svc.run(['model', 'list'], { env })).code).toBe(2)
    }
    expect(svc.wire.received).toHaveLength(0)
  })

  it('is printed in no failure, on either form', async () => {
    for (const reply of [problem(401, { code: 'token_invalid', detail: 'no' }), problem(500, {}), problem(404, {})]) {
      for (const more of [[], ['--json']]) {
        svc.wire.says(reply)
        const { out, err } = await svc.run(['request', 'GET', '/v1/x', ...more], { env: { SVC_TOKEN: secret } })
        expect(err).not.toBe('')
        expect(out + err).not.toContain(secret)
      }
    }
    const away = { SVC_TOKEN: secret, SVC_BASE_URL: 'http://127.0.0.1:9' }
    expect((await svc.run(['sys', 'status'], { env: away })).err).not.toContain(secret)
  })

  it('goes to no other address: not by an absolute URL, and not after a redirect', async () => {
    const other = (await WireServer.start()).says(json({}))
    for (const path of [`${other.url}/v1/status`, `//${new URL(other.url).host}/v1`, 'v1/status']) {
      expect((await svc.run(['request', 'GET', path])).code).toBe(2)
      expect((await svc.run(['request', 'GET', path, '--stream'])).code).toBe(2)
    }
    svc.wire.says((response) => response.writeHead(307, { location: `${other.url}/v1/status` }).end())
    const { code, err } = await svc.run(['request', 'GET', '/v1/status'])
    expect([code, err]).toEqual([5, expect.stringContaining('the token must not go along')])
    expect(other.received).toHaveLength(0)
    await other.stop()
  })

  it('is kept back from an address whose certificate nobody vouches for, unless the caller names it', async () => {
    const { cert, key } = makeCertificate(svc.dataDir, 'daemon')
    const secure = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
    })
    await once(secure.listen(0, '127.0.0.1'), 'listening')
    const env = { SVC_BASE_URL: `https://127.0.0.1:${(secure.address() as AddressInfo).port}` }
    const stranger = await svc.run(['model', 'list', '--json'], { env })
    expect([stranger.code, stranger.err]).toEqual([5, expect.stringContaining('NODE_EXTRA_CA_CERTS=<file>')])
    expect((await svc.run(['model', 'list', '--json'], { env: { ...env, NODE_EXTRA_CA_CERTS: cert } })).code).toBe(0)
    secure.close()
  })

  // The line of every process can be read by every account of the machine.
  it('is gone from the command line of the process before it is sent', async () => {
    let seen = ''
    const child = spawn(
      process.execPath,
      [join(process.cwd(), 'dist/svc.mjs'), '--token', secret, '--base-url', svc.wire.url, 'model', 'list', '--json'],
      { stdio: 'ignore' },
    )
    svc.wire.says((response, request) => {
      expect(request.headers.authorization).toBe(`Bearer ${secret}`)
      seen = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')
      json({})(response, request)
    })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(seen).toContain('svc')
    expect(seen).not.toContain('verysecret')
  })
})
