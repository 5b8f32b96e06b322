import type { Actor } from '#common/kernel/context.js'
import type { NodeRecord } from '../node/node.record.js'

const shownIds = 20

const byWhom = ({ kind, nodeId, appId }: Actor): string => {
  if (nodeId !== undefined) return `node ${nodeId}`
  return appId === undefined ? `the ${kind}` : `the application ${appId}`
}

const before = ({ status, fault }: Pick<NodeRecord, 'status' | 'fault'>): string => {
  switch (status) {
    case 'dead':
      return `You had ended as dead${fault ? `: ${fault.message}` : '.'}`
    case 'done':
      return 'Your work had ended with its report.'
    case 'canceled':
      return 'You had been canceled.'
    case 'idle':
    case 'active':
      return 'You were at rest.'
  }
}

/** What a node is told that was brought back without a word of its own. */
export const reviveNotice = (
  node: Pick<NodeRecord, 'status' | 'fault'>,
  actor: Actor,
  leftCanceled: readonly string[],
): string =>
  [
    `You were brought back by ${byWhom(actor)}. ${before(node)}`,
    ...(leftCanceled.length
      ? [
          `What was canceled with you stays canceled: ${leftCanceled.slice(0, shownIds).join(', ')}${leftCanceled.length > shownIds ? ` and ${leftCanceled.length - shownIds} more` : ''}.`,
        ]
      : []),
    'See what is left of your work, and go on with it.',
  ].join('\n')
