import { Injectable } from '@nestjs/common'

type Launch = (nodeId: string) => void
type Stop = (nodeId: string, generation: number) => void

/**
 * Where decisions about processes leave the transaction: whoever decides adds here after commit, the supervisor acts.
 * A hint only: what is lost with this process is found again in the rows.
 */
@Injectable()
export class LaunchQueue {
  private launch: Launch = () => undefined
  private end: Stop = () => undefined

  follow(launch: Launch, stop: Stop): void {
    this.launch = launch
    this.end = stop
  }

  add(nodeId: string): void {
    this.launch(nodeId)
  }

  stop(nodeId: string, generation: number): void {
    this.end(nodeId, generation)
  }
}
