import { jobStatuses } from '#common/contract/job.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/** The status of a background job. A command is never run twice: no event leads back. */
export const jobMachine = defineMachine({
  name: 'job',
  states: jobStatuses,
  initial: 'running',
  table: {
    exit: { from: ['running'], to: 'exited' },
    kill: { from: ['running'], to: 'killed' },
    lose: { from: ['running'], to: 'lost' },
  },
})

export type JobMachineEvent = (typeof jobMachine.events)[number]
