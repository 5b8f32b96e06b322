import { describe, expect, it } from '@jest/globals'
import type { JobEnd } from '#common/contract/job.internal.js'
import type { JobRecord } from './job.record.js'
import { endNotice } from './job.text.js'

const job = { id: 'job_1', command: 'npm test' } as JobRecord
const end = (more: Partial<JobEnd>): JobEnd => ({
  job_id: 'job_1',
  node_id: 'node_1',
  status: 'exited',
  exit_code: null,
  signal: null,
  ended_at: '2026-01-01T00:00:00.000Z',
  output_bytes: 0,
  truncated: false,
  error: null,
  tail: '',
  ...more,
})

describe('what a node is told of the end of its job', () => {
  it.each([
    [{ exit_code: 1, output_bytes: 9, tail: '2 failed\n' }, 'ended with exit code 1. Its last lines:\n2 failed'],
    [{ exit_code: 0 }, 'ended with exit code 0. It printed nothing.'],
    [{ signal: 'SIGSEGV', output_bytes: 1 }, 'was ended by SIGSEGV.'],
    [{ status: 'killed', signal: 'SIGTERM', output_bytes: 1 }, 'was canceled, and nothing of it is left.'],
    [{ error: 'no such directory' }, 'could not be run: no such directory. It printed nothing.'],
    [{ status: 'lost', error: 'its host was restarted', output_bytes: 1 }, 'is lost: its host was restarted.'],
  ] as [Partial<JobEnd>, string][])('says of %j: it %s', (more, text) => {
    expect(endNotice(job, end(more))).toBe(`Job job_1 \`npm test\` ${text}`)
  })

  it('is short, however long the command and its output are', () => {
    const long = { ...job, command: 'x'.repeat(50_000) }
    expect(endNotice(long, end({ exit_code: 0, tail: 'y'.repeat(4000) })).length).toBeLessThan(2400)
  })
})
