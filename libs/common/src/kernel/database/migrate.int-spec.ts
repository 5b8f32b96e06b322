import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { applyMigrations } from './migrate.js'

let store: TestDatabase
let directory: string
beforeEach(async () => {
  store = await testDatabase()
  directory = mkdtempSync(join(tmpdir(), 'svc-migrations-'))
  cpSync('prisma/migrations', directory, { recursive: true })
})
afterEach(async () => {
  await store.drop()
  rmSync(directory, { recursive: true })
})

const add = (name: string, sql: string): void => {
  mkdirSync(join(directory, name), { recursive: true })
  writeFileSync(join(directory, name, 'migration.sql'), sql)
}
const migrate = () => applyMigrations(store.url, directory)
const tables = async (): Promise<string[]> =>
  (await store.query<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)).map(
    ({ name }) => name,
  )

describe('applyMigrations', () => {
  it('does nothing on a database that is up to date, in less than 300 ms', async () => {
    const took: number[] = []
    for (let run = 1; run <= 5; run += 1) {
      const before = performance.now()
      expect(await migrate()).toMatchObject({ applied: [] })
      took.push(performance.now() - before)
    }
    // The others waited for whatever else this machine does.
    expect(Math.min(...took)).toBeLessThan(300)
  })

  it('applies what is missing in order, once, also when several ask at the same time', async () => {
    add('9001_a', 'CREATE TABLE public.a ()')
    add('9002_b', 'CREATE TABLE public.b (); ALTER TABLE public.a ADD c int')
    const outcomes = await Promise.all([migrate(), migrate(), migrate()])
    expect(outcomes.flatMap((outcome) => outcome.applied)).toEqual(['9001_a', '9002_b'])
    expect((await tables()).sort()).toEqual(['_prisma_migrations', 'a', 'b'])
  })

  it('undoes a migration that fails as a whole, and keeps those before it', async () => {
    add('9001_a', 'CREATE TABLE public.a ()')
    add('9002_b', 'CREATE TABLE public.b (); SELECT 1 / 0')
    await expect(migrate()).rejects.toThrow('Migration 9002_b failed and was undone: division by zero')
    expect((await tables()).sort()).toEqual(['_prisma_migrations', 'a'])
  })

  it('refuses a migration that was edited after it had been applied', async () => {
    add('9001_a', 'CREATE TABLE public.a ()')
    await migrate()
    add('9001_a', 'CREATE TABLE public.a (id int)')
    await expect(migrate()).rejects.toThrow('Migration 9001_a was changed after it had been applied')
  })

  it('serves a database that is one migration ahead, and refuses one that is further', async () => {
    add('9001_a', 'CREATE TABLE public.a ()')
    await migrate()
    rmSync(join(directory, '9001_a'), { recursive: true })
    expect(await migrate()).toEqual({ applied: [], at: '9001_a' })
    add('9001_a', 'CREATE TABLE public.a ()')
    add('9002_b', 'CREATE TABLE public.b ()')
    await migrate()
    for (const name of ['9001_a', '9002_b']) rmSync(join(directory, name), { recursive: true })
    await expect(migrate()).rejects.toThrow('does not know (9001_a, 9002_b)')
  })
})
