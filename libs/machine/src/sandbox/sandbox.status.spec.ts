import { describe, expect, it } from '@jest/globals'
import { endOfCode, SandboxStatus } from './sandbox.status.js'

describe('the status of a sandbox', () => {
  it('is read wherever its lines were cut', async () => {
    const status = new SandboxStatus()
    for (const piece of ['{ "child-p', 'id": 4711, "pid-namespace": 4 }\n{ "ex', 'it-code": 3 }\n']) {
      status.add(Buffer.from(piece))
    }
    await status.known
    expect(status).toMatchObject({ init: 4711, code: 3 })
  })

  it('has no code while the program runs, or was never started', () => {
    const status = new SandboxStatus()
    status.add(Buffer.from('{ "child-pid": 4711 }\n'))
    expect(status.code).toBeUndefined()
  })

  it('believes the first init alone, and nothing that is no document', () => {
    const status = new SandboxStatus()
    status.add(Buffer.from('{ "child-pid": 4711 }\n'))
    status.add(Buffer.from(`{ "child-pid": 1 }\nnull\n17\n{{{\n${'x'.repeat(10_000)}`))
    expect(status).toMatchObject({ init: 4711, code: undefined })
  })

  it.each([
    [0, { code: 0, signal: null }],
    [128, { code: 128, signal: null }],
    [129, { code: null, signal: 'SIGHUP' }],
    [137, { code: null, signal: 'SIGKILL' }],
    [143, { code: null, signal: 'SIGTERM' }],
    [160, { code: 160, signal: null }],
    [255, { code: 255, signal: null }],
  ])('takes the code %d for what shells mean by it', (code, end) => {
    expect(endOfCode(code)).toEqual(end)
  })
})
