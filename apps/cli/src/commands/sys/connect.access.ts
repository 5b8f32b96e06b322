import type { Access, Client } from '#sdk/index.js'
import { CommandError } from '../../failure.js'
import type { Output } from '../../output/output.js'

interface Wanted {
  readonly listen: readonly string[]
  readonly origin: readonly string[]
}

/** What is open already stays open; asked for twice it is the same. */
export const openAccess = async (client: Client, { listen, origin }: Wanted): Promise<Access> => {
  const before = await client.request<Access>('GET', '/v1/access')
  const added = listen.map((address) => address.toLowerCase())
  return client.request<Access>('PATCH', '/v1/access', {
    ...(added.length > 0 && { listen: [...new Set([...before.listen.map(({ address }) => address), ...added])] }),
    ...(origin.length > 0 && { origins: [...new Set([...before.origins, ...origin])] }),
  })
}

const portOf = (text: string): string | undefined => /:(\d+)\/?$/.exec(text)?.[1]

const isLoopback = (url: string): boolean => /^https?:\/\/(127\.|localhost[:/]|\[::1\])/.test(url)

/**
 * Where others reach an address that was opened: one that stands for all of the machine's is called by another.
 *
 * @throws CommandError when it could not be opened after all.
 */
export const urlAt = ({ listen, base_urls }: Access, address: string, out: Output): string => {
  const opened = listen.find((one) => one.address === address.toLowerCase())
  if (opened?.state !== 'open') throw new CommandError(`${address} is not open: ${opened?.detail ?? 'nobody says why'}`)
  if (opened.detail) out.note(opened.detail)
  const everywhere = /^(0\.0\.0\.0|\[::\]):/.test(address)
  const reached = base_urls.find((url) => portOf(url) === portOf(address) && !isLoopback(url))
  return everywhere && reached ? reached : `${opened.tls ? 'https' : 'http'}://${opened.address}`
}
