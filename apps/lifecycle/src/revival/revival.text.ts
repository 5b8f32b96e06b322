import type { NodeRecord } from '../node/node.record.js'
import type { Owes } from './owed.repository.js'

type Fallen = Pick<NodeRecord, 'fault'>

/** Why nobody works on what it owes. */
export const reasonOf = ({ fault }: Fallen, owes: Owes): string => {
  switch (owes) {
    case 'dead':
      return `it ended as dead: ${fault?.message ?? 'the cause is not known'}`
    case 'fault':
      return `it rests after a fault: ${fault?.message}`
    case 'hangs':
      return 'it owes a report and waits for nothing'
  }
}
