import { accessOperations } from './access.operations.js'
import { appOperations } from './app.operations.js'
import { auditOperations } from './audit.operations.js'
import { brokerOperations } from './broker.operations.js'
import { canvasOperations } from './canvas.operations.js'
import { canvasEventOperations } from './canvas-event.operations.js'
import { cronOperations } from './cron.operations.js'
import type { Operation } from './define.js'
import { focusOperations } from './focus.operations.js'
import { grantInternals } from './grant.internal.js'
import { historyOperations } from './history.operations.js'
import { humanOperations } from './human.operations.js'
import { internalOperations } from './internal.operations.js'
import { jobInternalOperations } from './job.internal.js'
import { jobOperations } from './job.operations.js'
import { ledgerOperations } from './ledger.operations.js'
import { bashOperations, fileOperations } from './machine.operations.js'
import { modelOperations } from './model.operations.js'
import { nodeOperations } from './node.operations.js'
import { nodeCareOperations } from './node-care.operations.js'
import { nodeContextOperations } from './node-context.operations.js'
import { nodeWaitOperations } from './node-wait.operations.js'
import { objectInternals } from './object.internal.js'
import { objectOperations } from './object.operations.js'
import { personaOperations } from './persona.operations.js'
import { profileOperations } from './profile.operations.js'
import { retentionOperations } from './retention.operations.js'
import { sandboxOperations } from './sandbox.operations.js'
import { systemOperations } from './system.operations.js'
import { tokenOperations } from './token.operations.js'
import { viewerOperations } from './viewer.operations.js'
import { watchOperations } from './watch.operations.js'
import { workInternals } from './work.internal.js'
import { worktreeInternals } from './worktree.internal.js'
import { worktreeOperations } from './worktree.operations.js'

/** Every operation of the daemon. A route that isn't here doesn't exist. */
export const operations = [
  ...systemOperations,
  ...accessOperations,
  ...nodeOperations,
  ...nodeCareOperations,
  ...nodeWaitOperations,
  ...nodeContextOperations,
  ...profileOperations,
  ...personaOperations,
  ...canvasOperations,
  ...canvasEventOperations,
  ...focusOperations,
  ...historyOperations,
  ...humanOperations,
  ...cronOperations,
  ...objectOperations,
  ...watchOperations,
  ...ledgerOperations,
  ...brokerOperations,
  ...viewerOperations,
  ...jobOperations,
  ...worktreeOperations,
  ...fileOperations,
  ...bashOperations,
  ...modelOperations,
  ...sandboxOperations,
  ...retentionOperations,
  ...auditOperations,
  ...appOperations,
  ...tokenOperations,
  ...internalOperations,
  ...jobInternalOperations,
  ...grantInternals,
  ...worktreeInternals,
  ...workInternals,
  ...objectInternals,
] as const

type All = (typeof operations)[number]
export type OperationName = All['name']

/** The contract by name: `contract['nodes.create']`. */
export const contract = Object.fromEntries(operations.map((entry) => [entry.name, entry])) as {
  readonly [Name in OperationName]: Extract<All, { name: Name }>
}

/** Operations that are HTTP routes, typed or not. */
export const routes = operations.filter(
  (entry): boolean => entry.kind === 'route' || entry.kind === 'untyped',
) as readonly Operation[]

export * from './app.schema.js'
export * from './attachment.schema.js'
export { type AuditEntry, type AuditPage, auditEntry } from './audit.operations.js'
export * from './broker.schema.js'
export * from './canvas.schema.js'
export * from './common.schema.js'
export * from './cron.schema.js'
export * from './define.js'
export * from './errors.js'
export * from './history.schema.js'
export * from './human.schema.js'
export * from './internal.operations.js'
export * from './job.internal.js'
export * from './job.schema.js'
export * from './ledger.operations.js'
export * from './machine.schema.js'
export * from './model.schema.js'
export * from './node.schema.js'
export * from './node-care.schema.js'
export type { FaultEpisode } from './node-wait.operations.js'
export { type HandedEvent, handedEvent } from './object.internal.js'
export * from './object.schema.js'
export { type Kind, kind } from './persona.operations.js'
export * from './persona.schema.js'
export * from './profile.schema.js'
export { type Retention, retention } from './retention.operations.js'
export { consentSentence, type SandboxState, sandboxLevels } from './sandbox.operations.js'
export * from './token.schema.js'
export { type Authority, authority, workStates } from './work.internal.js'
export * from './worktree.schema.js'
