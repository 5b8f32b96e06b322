/** Ids of one request. */
const most = 1000

/** Acknowledges deliveries one after the other, and those that come meanwhile together. */
export class Acknowledger {
  readonly #waiting: string[] = []
  #underway: Promise<void> = Promise.resolve()
  #sends = false
  #failure: { readonly error: unknown } | undefined

  /** @param failed told of what the sending failed with, after which nothing more is acknowledged */
  constructor(
    private readonly send: (ids: readonly string[]) => Promise<unknown>,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Soon; not before there is room for it. */
  async add(id: string): Promise<void> {
    this.#waiting.push(id)
    if (!this.#sends) this.#underway = this.#sendAll()
    if (this.#waiting.length >= most) await this.#underway
  }

  /** Resolves when nothing is under way any more. @throws what the sending failed with */
  async done(): Promise<void> {
    await this.#underway
    if (this.#failure) throw this.#failure.error
  }

  async #sendAll(): Promise<void> {
    this.#sends = true
    try {
      while (this.#waiting.length) await this.send(this.#waiting.splice(0, most))
      this.#sends = false
    } catch (error) {
      this.#failure = { error }
      this.failed(error)
    }
  }
}
