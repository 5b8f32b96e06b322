import { readFileSync } from 'node:fs'
import type { Listener } from '#common/contract/define.js'
import { packageRoot } from '#common/kernel/version.js'

const files: Record<Listener, string> = { owner: 'docs/openapi.json', app: 'docs/openapi.app.json' }

/** The description of a listener's routes, as it was generated from the contract and committed. */
export const readOpenApi = (listener: Listener): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(files[listener], packageRoot), 'utf8')) as Record<string, unknown>
