import type { Client } from '#sdk/index.js'

/** Names remembered at once. */
const most = 5000

/** What nodes are called; asked of the daemon once each. */
export class NodeNames {
  readonly #names = new Map<string, string>()

  constructor(private readonly client: Client) {}

  learn(id: string, name: string): void {
    if (this.#names.size >= most) this.#names.delete(this.#names.keys().next().value as string)
    this.#names.set(id, name)
  }

  /** A node that can't be asked for any more is called by the end of its id. */
  async of(id: string): Promise<string> {
    const known = this.#names.get(id)
    if (known !== undefined) return known
    const name = await this.client.nodes.retrieve(id).then(
      (node) => node.name,
      () => `…${id.slice(-6)}`,
    )
    this.learn(id, name)
    return name
  }
}
