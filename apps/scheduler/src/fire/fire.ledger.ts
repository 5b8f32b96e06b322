import type { CronFire, LedgerState } from '#common/contract/index.js'

/** What of a firing decides whether it went as planned. `attempts`: tries to start it so far. */
type Standing = Pick<CronFire, 'status' | 'cause'> & { readonly attempts: number }

/** What a firing is in the ledger; null for one that goes or went as planned. */
export const ledgerOf = ({ status, cause, attempts }: Standing): LedgerState | null => {
  switch (status) {
    case 'queued':
      return cause === 'late' ? 'waiting' : null
    case 'starting':
      return cause === 'late' || attempts > 1 ? 'waiting' : null
    case 'running':
    case 'succeeded':
      return cause === 'late' ? 'late' : null
    case 'failed':
      return 'failed'
    case 'unknown':
      return 'unknown'
    case 'canceled':
      return cause === 'cron_ended' ? 'omitted' : 'failed'
    case 'skipped':
    case 'missed':
    case 'coalesced':
      return 'omitted'
  }
}
