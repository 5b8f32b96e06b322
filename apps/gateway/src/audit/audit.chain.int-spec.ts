import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { AuditEntry } from '#common/contract/audit.operations.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { silent } from '#common/testing/canvas-database.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { brokenAt } from '../testing/audit-chain.fixture.js'
import { ownLine } from './audit.line.js'
import { AuditLog } from './audit.log.js'
import { AuditRepository } from './audit.repository.js'

let store: TestDatabase
let databases: Database[]
let writers: Writer[]
let logs: AuditLog[]
let audit: AuditRepository

beforeAll(async () => {
  store = await testDatabase()
  databases = [0, 1, 2].map((at) => new Database({ url: store.url, application: `log ${at}`, log: silent, max: 3 }))
  writers = databases.map((database) => new Writer({ database, schema: 'gateway', log: silent }))
  logs = writers.map((writer) => new AuditLog(writer, systemClock, silent))
  audit = new AuditRepository(databases[0] as Database, writers[0] as Writer)
})
afterAll(async () => {
  for (const database of databases) await database.close()
  await store.drop()
})

const written = async () => {
  const lines: AuditEntry[] = []
  for (;;) {
    const asked = { order: 'oldest', limit: 200, since_seq: lines.at(-1)?.seq ?? 0 } as const
    const page = await audit.list(asked)
    lines.push(...page.data)
    if (!page.has_more) return { lines, ends: page }
  }
}

const line = (name: string) => ownLine(systemClock.now(), name, null)

describe('the chain', () => {
  it('is one, unbroken, whatever logs write and prune at once', async () => {
    let runs = 0
    const step = fc.record({ log: fc.nat(2), kind: fc.constantFrom('append', 'append', 'note', 'prune', 'yield') })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        runs += 1
        const begun = (await written()).ends.head.seq
        const names: string[] = []
        const pending: Promise<unknown>[] = []
        for (const [at, { log, kind }] of steps.entries()) {
          const name = `run.${runs}.${at}`
          const target = logs[log] as AuditLog
          if (kind === 'yield') await pending.at(-1)
          else if (kind === 'prune') pending.push(audit.prune(systemClock.now() - 20))
          else if (kind === 'note') target.note(line(name))
          else pending.push(target.append(line(name)))
          if (kind === 'append' || kind === 'note') names.push(name)
        }
        await Promise.all(pending)
        for (const target of logs) await target.beforeApplicationShutdown()
        const { lines, ends } = await written()
        expect(brokenAt(lines, ends)).toBeUndefined()
        expect(ends.head.seq - begun).toBe(names.length)
        const found = lines.flatMap(({ operation }) => (operation?.startsWith(`run.${runs}.`) ? [operation] : []))
        expect(names).toEqual(expect.arrayContaining(found))
        expect(new Set(found).size).toBe(found.length)
      }),
      { numRuns: 15 },
    )
  })

  it('has no line twice after a commit of which nobody knew whether it stood', async () => {
    let failures = 1
    /** The real one; its first answer is lost behind the commit. */
    const forgetful = {
      transact: async (ctx: Context, work: (ctx: TxContext) => Promise<unknown>) => {
        const value = await (writers[1] as Writer).transact(ctx, work)
        if (failures-- > 0) throw new SvcError('service_unavailable')
        return value
      },
    } as Writer
    const log = new AuditLog(forgetful, systemClock, silent)
    log.note(line('doubt.noted'))
    await waitFor(() => failures <= 0, { what: 'the lost answer' })
    await log.append(line('doubt.awaited'))
    const { lines, ends } = await written()
    const names = lines.map(({ operation }) => operation).filter((name) => name?.startsWith('doubt.'))
    expect(names).toEqual(['doubt.noted', 'doubt.awaited'])
    expect(brokenAt(lines, ends)).toBeUndefined()
  })

  // What the second try had found written was forgotten with it.
  it('has no line twice when the try after such a commit fails', async () => {
    const fails = new SvcError('service_unavailable')
    let tries = 0
    const writer = writers[1] as Writer
    const failing = {
      transact: async (ctx: Context, work: (ctx: TxContext) => Promise<unknown>) => {
        tries += 1
        if (tries > 2) return writer.transact(ctx, work)
        const undone = tries === 2
        await writer.transact(ctx, async (within) => {
          await work(within)
          if (undone) throw fails
        })
        throw fails
      },
    } as Writer
    const log = new AuditLog(failing, systemClock, silent)
    log.note(line('twice.noted'))
    await waitFor(() => tries === 1, { what: 'the lost answer' })
    await expect(log.append(line('twice.undone'))).rejects.toMatchObject({ code: 'service_unavailable' })
    await log.append(line('twice.awaited'))
    const { lines, ends } = await written()
    const names = lines.map(({ operation }) => operation).filter((name) => name?.startsWith('twice.'))
    expect(names).toEqual(['twice.noted', 'twice.awaited'])
    expect(brokenAt(lines, ends)).toBeUndefined()
  })

  it('refuses who awaits a line while another holds it for too long, and goes on after', async () => {
    const holder = new Database({ url: store.url, application: 'holder', log: silent, max: 1 })
    const client = await holder.connect()
    await client.query(
      'SET idle_in_transaction_session_timeout = 0; BEGIN; SELECT 1 FROM gateway.audit_head FOR UPDATE',
    )
    await expect((logs[0] as AuditLog).append(line('held.refused'))).rejects.toMatchObject({
      code: 'service_unavailable',
      fields: { service: 'audit' },
    })
    await client.query('ROLLBACK')
    client.release()
    await holder.close()
    await (logs[0] as AuditLog).append(line('held.after'))
    const { lines, ends } = await written()
    expect(lines.at(-1)?.operation).toBe('held.after')
    expect(brokenAt(lines, ends)).toBeUndefined()
  })
})
