import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { jobStatuses } from '#common/contract/job.schema.js'
import { jobMachine } from './job.machine.js'

describe('the machine of a job', () => {
  for (const event of jobMachine.events) {
    it(`lets it ${event} once, out of running alone`, () => {
      const ended = jobMachine.apply({ status: 'running' }, event)
      for (const status of jobStatuses.filter((one) => one !== 'running')) {
        expect(() => jobMachine.apply({ status }, event)).toThrow(
          expect.objectContaining({ code: 'illegal_transition', fields: { state: status, event } }),
        )
      }
      expect(ended.status).not.toBe('running')
    })
  }

  it('knows the states that the contract and the database know', () => {
    expect(jobMachine.states).toEqual(jobStatuses)
    const sql = readFileSync('prisma/migrations/0004_jobs/migration.sql', 'utf8')
    expect(sql).toContain(`CHECK (status IN (${jobStatuses.map((name) => `'${name}'`).join(', ')}))`)
  })
})
