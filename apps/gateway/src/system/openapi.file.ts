import { readFileSync } from 'node:fs'
import type { Listener } from '#common/contract/define.js'

const files: Record<Listener, string> = { owner: 'docs/openapi.json', app: 'docs/openapi.app.json' }

const rootOf = (from: URL): URL => {
  for (let at = new URL('./', from); ; at = new URL('../', at)) {
    try {
      const found = JSON.parse(readFileSync(new URL('package.json', at), 'utf8')) as { name?: string }
      if (found.name === 'svc') return at
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (at.pathname === '/') throw new Error('package.json of svc was not found above this file')
  }
}

/** The description of a listener's routes, as it was generated from the contract and committed. */
export const readOpenApi = (listener: Listener): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(files[listener], rootOf(new URL(import.meta.url))), 'utf8')) as Record<
    string,
    unknown
  >
