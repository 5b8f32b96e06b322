import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The bundled broker, which the build puts into `dist/` of the package that this file belongs to. */
export const findBrokerProgram = (from = new URL(import.meta.url)): string => {
  for (let at = new URL('./', from); ; at = new URL('../', at)) {
    const file = fileURLToPath(new URL('dist/broker.mjs', at))
    if (existsSync(file)) return file
    if (at.pathname === '/') throw new Error('dist/broker.mjs was not found: build the project first (npm run build)')
  }
}
