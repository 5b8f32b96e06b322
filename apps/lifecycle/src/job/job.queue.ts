import { Injectable } from '@nestjs/common'

/**
 * Where the end of a node leaves its transaction for its jobs. A hint only: what is lost with this process is found
 * again in the rows.
 */
@Injectable()
export class JobQueue {
  private end: (nodeId: string) => void = () => undefined

  follow(end: (nodeId: string) => void): void {
    this.end = end
  }

  /** The node was canceled: its jobs end. */
  endAll(nodeId: string): void {
    this.end(nodeId)
  }
}
