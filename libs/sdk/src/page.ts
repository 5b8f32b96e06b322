/** One page of a list, as the daemon answers it. */
export interface Page<T> {
  data: T[]
  /** Cursor of the next page; null on the last one. */
  next_cursor: string | null
  has_more: boolean
}

/**
 * A list: awaited it is its first page, iterated it is every entry of this page and the following ones. Nothing is sent
 * before either.
 */
export class PageList<T> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #read: (after?: string) => Promise<Page<T>>
  #first: Promise<Page<T>> | undefined

  /** @param read reads one page, after the cursor if there is one */
  constructor(read: (after?: string) => Promise<Page<T>>) {
    this.#read = read
  }

  /** The first page. */
  get page(): Promise<Page<T>> {
    this.#first ??= this.#read()
    return this.#first
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is its first page when it is awaited
  then<A = Page<T>, B = never>(
    onFulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.page.then(onFulfilled, onRejected)
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<T> | B> {
    return this.page.catch(onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<Page<T>> {
    return this.page.finally(onFinally)
  }

  /** This page and the following ones. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let page = await this.page; ; page = await this.#read(page.next_cursor ?? undefined)) {
      yield page
      if (!page.has_more || page.next_cursor === null) return
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }
}
