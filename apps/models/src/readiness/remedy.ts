import { defaultLadders, isBuiltIn } from '../config/config.defaults.js'
import type { Provider } from '../provider/provider.directory.js'
import type { Providers } from '../provider/provider.registry.js'

const example = 'svc model add ollama --base-url http://127.0.0.1:11434/v1 --model <name>'

const addCredential = (name: string): string => `svc model add ${name} --key-file <file>`

/**
 * Which command mends it, or null when nothing is missing.
 *
 * @param provider the provider that was asked for by name, where one was.
 */
export const remedyFor = (
  { byName, config }: Providers,
  obstacle: (provider: Provider) => string | null,
  provider?: string,
): string => {
  if (provider !== undefined && !byName.has(provider)) {
    return `Run \`svc model add ${provider} --base-url <url> --model <name>\`, then \`svc model status\`.`
  }
  if (provider !== undefined) return `Run \`${addCredential(provider)}\`, then \`svc model status\`.`
  const named = Object.values(config.document.ladders).flatMap((rungs) =>
    rungs.map((rung) => rung.slice(0, rung.indexOf('/'))),
  )
  const blocked = [...new Set(named)].flatMap((name) => {
    const known = byName.get(name)
    return known && obstacle(known) !== null ? [name] : []
  })
  if (blocked.length)
    return `Run ${blocked.map((name) => `\`${addCredential(name)}\``).join(' or ')}, then \`svc model status\`.`
  const builtIn = defaultLadders.medium.map((rung) => rung.slice(0, rung.indexOf('/'))).filter(isBuiltIn)
  const keyed = builtIn.map((name) => `\`${addCredential(name)}\``).join(', ')
  return `Add a credential (${keyed}) or a local provider (\`${example}\`), then \`svc model status\`.`
}
