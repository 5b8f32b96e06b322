import { readFileSync } from 'node:fs'

const names = ['DATABASE_URL', 'NATS_URL', 'REDIS_URL']

/**
 * Settings that hold a password may stand in a file, which `<NAME>_FILE` names: an environment is read by every child
 * and shown by many tools. Naming both is refused.
 */
export function withSecretFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const read = { ...env }
  for (const name of names) {
    const file = env[`${name}_FILE`]
    if (!file) continue
    if (env[name]) throw new Error(`Both ${name} and ${name}_FILE are set: keep one`)
    read[name] = readFileSync(file, 'utf8').trim()
  }
  return read
}
