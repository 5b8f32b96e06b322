import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { run } from '../support/command.js'
import { cleanEnvironment, TestDaemon } from '../support/daemon.js'

const program = (name: string): string => join(projectRoot, 'node_modules', name)
const env = { ...cleanEnvironment(), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
let daemon: TestDaemon
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-openapi-'))
  symlinkSync(program(''), join(directory, 'node_modules'))
  daemon = await TestDaemon.start()
})
afterAll(async () => {
  await daemon.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** What a stranger writes with a client that a generator made; nothing here is ours. */
const story = `
import { client } from './client/client.gen'
import { nodesCreate, nodesOutcome } from './client/sdk.gen'
import type { Node } from './client/types.gen'

const [baseUrl = '', token = '', cwd = ''] = process.argv.slice(2)
client.setConfig({ baseUrl, headers: { authorization: 'Bearer ' + token } })
const created = await nodesCreate({
  body: { prompt: 'go', cwd, engine: 'exec', lifecycle: 'terminal', exec: { argv: ['echo', 'generated'] } },
  throwOnError: true,
})
const node: Node = created.data
const outcome = await nodesOutcome({ path: { id: node.id }, query: { wait: 30 }, throwOnError: true })
const body: string | undefined = outcome.data.final_report?.body
const refused = await nodesCreate({ body: { prompt: '', cwd } })
console.log(JSON.stringify({ status: created.response.status, body, refused: refused.error?.code }))
`

describe('openapi.json', () => {
  it('passes a public linter', async () => {
    const files = ['docs/openapi.json', 'docs/openapi.app.json']

    const lint = await run(process.execPath, [program('@redocly/cli/bin/cli.js'), 'lint', ...files], { env })

    expect(`${lint.stdout}${lint.stderr}`).toContain('Your API descriptions are valid')
    expect(lint.code).toBe(0)
  })

  it('is what the daemon serves', async () => {
    const served = await fetch(`${daemon.baseUrl}/v1/openapi.json`)

    writeFileSync(join(directory, 'openapi.json'), await served.text())
    expect(served.status).toBe(200)
  })

  it('gives a public generator all that a typed client needs to create a node and read its end', async () => {
    const input = join(directory, 'openapi.json')
    const generator = program('@hey-api/openapi-ts/bin/run.js')
    const options = ['-i', input, '-o', join(directory, 'client'), '-c', '@hey-api/client-fetch']
    const made = await run(process.execPath, [generator, ...options], { cwd: directory, env })
    expect(made).toMatchObject({ code: 0 })
    writeFileSync(join(directory, 'story.ts'), story)
    const settings = ['--strict', '--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022']
    const where = ['--typeRoots', program('@types'), '--types', 'node', '--skipLibCheck', '--noEmit']
    const types = await run(process.execPath, [program('typescript/bin/tsc'), ...settings, ...where, 'story.ts'], {
      cwd: directory,
      env,
    })
    expect(types).toMatchObject({ code: 0, stdout: '' })
    const bundle = [
      'story.ts',
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--outfile=story.mjs',
      '--log-level=error',
    ]
    expect(await run(program('esbuild/bin/esbuild'), bundle, { cwd: directory, env })).toMatchObject({ code: 0 })

    const told = await run(process.execPath, ['story.mjs', daemon.baseUrl, daemon.token, daemon.workDir], {
      cwd: directory,
      env,
    })

    expect(told.stderr).toBe('')
    expect(JSON.parse(told.stdout)).toEqual({ status: 201, body: 'generated', refused: 'validation_failed' })
  })
})
