import type { contract, OutputOf } from '#common/contract/index.js'

/** What a node did, as the canvas' log has it. */
export type NodeEvent = OutputOf<(typeof contract)['lifecycle.canvas.readEvents']>['events'][number]
