import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import { withDatabase } from '#common/testing/database.js'
import { required } from '#common/testing/test-environment.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { textOf } from '../support/daemon-processes.js'

const services = ['gateway', 'lifecycle', 'models', 'objects', 'scheduler']

/** Who is in the database, by what they call themselves. */
const present = (daemon: TestDaemon): Promise<{ service: string; role: string }[]> =>
  daemon.rows(
    `SELECT DISTINCT split_part(application_name, ' ', 2) AS service, usename AS role FROM pg_stat_activity
    WHERE application_name = ANY ($1) ORDER BY 1`,
    [services.map((service) => `svc ${service}`)],
  )

const runsANode = async (daemon: TestDaemon): Promise<void> => {
  const program = { engine: 'exec', lifecycle: 'terminal' as const, exec: { argv: ['echo', 'done'] } }
  const outcome = await daemon
    .client({ maxRetries: 20 })
    .nodes.createAndWait({ ...program, cwd: daemon.workDir, prompt: 'go' })
  expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'done' } })
}

describe('the services of a daemon', () => {
  let daemon: TestDaemon
  beforeEach(async () => {
    daemon = await TestDaemon.start()
  })
  afterEach(() => daemon.stop())

  it('are in the database as their own roles, also after every secret of theirs was lost', async () => {
    const own = services.map((service) => ({ service, role: `svc_${service}` }))
    await runsANode(daemon)
    expect(await present(daemon)).toEqual(own)

    daemon.processes.kill('daemon')
    for (const service of services) rmSync(join(daemon.data.secrets, `postgres.${service}.password`))
    await daemon.startAgain()

    await runsANode(daemon)
    expect(await present(daemon)).toEqual(own)
  })

  it('get their roles where an earlier version left a database without', async () => {
    daemon.processes.kill('daemon')
    const admin = await daemon.database()
    for (const service of services) await admin.run(`DROP OWNED BY svc_${service}; DROP ROLE svc_${service}`)
    await admin.run('GRANT CONNECT, TEMP ON DATABASE postgres TO PUBLIC')
    await admin.close()

    await daemon.startAgain()

    await runsANode(daemon)
    expect((await present(daemon)).map(({ role }) => role)).toEqual(services.map((service) => `svc_${service}`))
  })
})

describe('a database of somebody’s own whose account may not make roles', () => {
  const name = `own_${process.pid}`
  let admin: AdminConnection
  let daemon: TestDaemon
  beforeEach(async () => {
    const server = required('SVC_TEST_POSTGRES_URL')
    admin = await openAdmin(server)
    await admin.run(`CREATE ROLE ${name} LOGIN PASSWORD 'pw'`)
    await admin.run(`CREATE DATABASE ${name} OWNER ${name}`)
    const address = new URL(withDatabase(server, name))
    Object.assign(address, { username: name, password: 'pw' })
    daemon = await TestDaemon.prepare({ env: { DATABASE_URL: address.href } })
  })
  afterEach(async () => {
    await daemon.stop()
    await admin.run(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.run(`DROP ROLE ${name}`)
    await admin.close()
  })

  it('is refused with what to grant; accepted as shared it works, and log and doctor say what that means', async () => {
    await expect(daemon.start()).rejects.toThrow(/ALTER ROLE \\?"own_\d+\\?" CREATEROLE.*SVC_DATABASE_ROLES=shared/)

    daemon.env.SVC_DATABASE_ROLES = 'shared'
    await daemon.start()

    await runsANode(daemon)
    const log = textOf(join(daemon.data.log, 'daemon.log'))
    expect(log).toContain('all services share one account of the database')
    const { stdout } = await svc(daemon, ['sys', 'doctor', '--json'])
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({ name: 'database', state: 'warn', detail: expect.stringContaining('the canvas too') }),
    )
  })
})
