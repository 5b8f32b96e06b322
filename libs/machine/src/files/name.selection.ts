/** Keeps the smallest of many names, whatever their order and number: never more than `size` of them at once. */
export class NameSelection {
  /** A heap whose first is the greatest. */
  readonly #heap: string[] = []

  constructor(private readonly size: number) {}

  add(name: string): void {
    const heap = this.#heap
    if (heap.length < this.size) {
      heap.push(name)
      this.#rise(heap.length - 1)
    } else if (name < (heap[0] as string)) {
      heap[0] = name
      this.#sink()
    }
  }

  sorted(): string[] {
    return [...this.#heap].sort((a, b) => (a < b ? -1 : 1))
  }

  #rise(at: number): void {
    const heap = this.#heap
    for (let above = (at - 1) >> 1; at > 0 && (heap[at] as string) > (heap[above] as string); above = (at - 1) >> 1) {
      this.#swap(at, above)
      at = above
    }
  }

  #sink(): void {
    const heap = this.#heap
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const right = left + 1
      if (left >= heap.length) return
      const greater = right < heap.length && (heap[right] as string) > (heap[left] as string) ? right : left
      if ((heap[greater] as string) <= (heap[at] as string)) return
      this.#swap(at, greater)
      at = greater
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    const kept = heap[a] as string
    heap[a] = heap[b] as string
    heap[b] = kept
  }
}
