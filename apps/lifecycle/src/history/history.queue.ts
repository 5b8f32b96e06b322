import { Injectable } from '@nestjs/common'

/** Nodes that said or did something which the index may not hold yet. Only a hint: the rows tell the truth. */
@Injectable()
export class HistoryQueue {
  private waiting = new Set<string>()
  private listener: () => void = () => undefined

  get size(): number {
    return this.waiting.size
  }

  /** Called after each commit: costs next to nothing. */
  add(nodeId: string): void {
    this.waiting.add(nodeId)
    this.listener()
  }

  take(limit: number): string[] {
    const taken: string[] = []
    for (const id of this.waiting) {
      if (taken.length === limit) break
      taken.push(id)
    }
    for (const id of taken) this.waiting.delete(id)
    return taken
  }

  onAdded(listener: () => void): void {
    this.listener = listener
  }

  forget(): void {
    this.waiting = new Set()
  }
}
