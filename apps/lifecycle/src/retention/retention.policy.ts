import { jobLimits } from '#common/contract/job.schema.js'
import type { Settings } from '#common/kernel/config.js'

export const dayMs = 86_400_000
/** Days for which a delivery is remembered: far longer than another service may go on sending it. */
export const deliveryDays = 60
/** Days for which it is known what a firing of a schedule began: far longer than it may be begun late. */
export const workDays = 90

/** Something that is kept for a time of its own. */
export interface RetentionClass {
  readonly class: string
  readonly what: string
  readonly tables: readonly string[]
  /** Null: time does not decide. */
  readonly days: number | null
  /** In words, where days don't say it. */
  readonly kept?: string
  readonly setting?: keyof Settings
}

const withNode = { days: null, kept: 'as long as its node' } as const

/** The one table of what is kept how long. */
export const retentionPolicy = (settings: Settings): readonly RetentionClass[] => [
  {
    class: 'nodes',
    what: 'nodes that have ended, with their mail and reports',
    tables: ['nodes', 'counters', 'trees', 'subscriptions', 'transitions', 'mail', 'reports', 'results'].map(canvas),
    ...orNever(settings.SVC_KEEP_NODES_DAYS, 'until somebody prunes them (svc canvas prune)'),
    setting: 'SVC_KEEP_NODES_DAYS',
  },
  { class: 'events', what: 'events of nodes', tables: ['canvas.events'], ...withNode },
  { class: 'journal', what: 'conversations', tables: ['canvas.journal', 'canvas.tool_calls'], ...withNode },
  { class: 'history', what: 'the index of texts', tables: ['canvas.passages', 'canvas.history_heads'], ...withNode },
  {
    class: 'attachments',
    what: 'what messages and reports carry',
    tables: ['canvas.attachments', 'canvas.blobs'],
    ...withNode,
  },
  {
    class: 'jobs',
    what: 'background jobs that have ended',
    tables: ['canvas.jobs'],
    days: jobLimits.keptMs / dayMs,
  },
  {
    class: 'questions',
    what: 'questions to a person that are resolved',
    tables: ['canvas.human_requests'],
    ...orNever(settings.SVC_KEEP_QUESTIONS_DAYS, 'for ever'),
    setting: 'SVC_KEEP_QUESTIONS_DAYS',
  },
  {
    class: 'firings',
    what: 'what became of the slots of schedules',
    tables: ['scheduler.fires'],
    ...orNever(settings.SVC_KEEP_FIRES_DAYS, 'for ever'),
    setting: 'SVC_KEEP_FIRES_DAYS',
  },
  {
    class: 'schedules',
    what: 'schedules that are over, with nothing left of their slots',
    tables: ['scheduler.crons'],
    ...orNever(settings.SVC_KEEP_FIRES_DAYS, 'until somebody deletes them'),
    setting: 'SVC_KEEP_FIRES_DAYS',
  },
  {
    class: 'object_deliveries',
    what: 'deliveries that were acknowledged',
    tables: ['deliveries', 'acks', 'failures', 'refusals'].map(objects),
    ...orNever(settings.SVC_KEEP_DELIVERIES_DAYS, 'for ever'),
    setting: 'SVC_KEEP_DELIVERIES_DAYS',
  },
  {
    class: 'object_events',
    what: 'events of objects that nobody is owed any more',
    tables: ['events', 'keys'].map(objects),
    ...orNever(settings.SVC_KEEP_DELIVERIES_DAYS, 'for ever'),
    setting: 'SVC_KEEP_DELIVERIES_DAYS',
  },
  {
    class: 'answers',
    what: 'texts that models answered; what each call cost stays',
    tables: ['models.calls'],
    ...orNever(settings.SVC_KEEP_ANSWERS_DAYS, 'for ever'),
    setting: 'SVC_KEEP_ANSWERS_DAYS',
  },
  {
    class: 'works',
    what: 'what schedules have begun, once it has ended',
    tables: ['canvas.works'],
    days: workDays,
  },
  {
    class: 'concerns',
    what: 'schedules that needed a person, and do no more',
    tables: ['canvas.concerns'],
    days: deliveryDays,
  },
  {
    class: 'statistics',
    what: 'turns, tokens and cost by day',
    tables: ['canvas.activity', 'models.spend'],
    days: null,
    kept: 'for ever',
  },
  {
    class: 'keys',
    what: 'first answers under idempotency keys',
    tables: ['canvas', 'gateway', 'models', 'objects', 'scheduler'].map((schema) => `${schema}.idempotency`),
    days: 1,
  },
  {
    class: 'deliveries',
    what: 'what services have told each other',
    tables: ['canvas', 'models', 'objects', 'scheduler'].flatMap((schema) => [`${schema}.outbox`, `${schema}.inbox`]),
    days: deliveryDays,
  },
]

const canvas = (table: string): string => `canvas.${table}`
const objects = (table: string): string => `objects.${table}`

const orNever = (days: number, never: string): { days: number | null; kept?: string } =>
  days > 0 ? { days } : { days: null, kept: never }
