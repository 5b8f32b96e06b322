import { Injectable } from '@nestjs/common'
import { hasCode, isSvcError } from '#common/kernel/errors.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { Launcher } from '../supervision/launcher.js'
import type { LaunchRow } from './ledger.repository.js'

export interface LaunchCause {
  readonly cause: 'no_host' | 'worktree' | 'booting' | 'capacity' | 'launch_failed' | 'queued'
  readonly message: string
}

/** Why a node that is to run has no process yet, as far as this process knows it. */
@Injectable()
export class LaunchCauses {
  constructor(
    private readonly hosts: HostRegistry,
    private readonly launcher: Launcher,
  ) {}

  of({ node_id: id, generation, worktree_state }: LaunchRow): LaunchCause {
    if (worktree_state === 'creating') return { cause: 'worktree', message: 'Its worktree is still being made.' }
    if (this.launcher.launchOf(id, generation)) {
      return { cause: 'booting', message: 'Its process was started, and has not begun to work yet.' }
    }
    if (!this.hosts.choose()) {
      return { cause: 'no_host', message: 'No host is there that could run it: `svc sys doctor` says what is missing.' }
    }
    const obstacle = this.launcher.obstacleOf(id)
    if (hasCode(obstacle, 'quota_exceeded')) return { cause: 'capacity', message: 'No host has room for it yet.' }
    if (obstacle === undefined) return { cause: 'queued', message: 'Its launch waits for others.' }
    const why = isSvcError(obstacle) ? obstacle.message : 'the log of lifecycle says why'
    return { cause: 'launch_failed', message: `It could not be launched, and is tried again: ${why}` }
  }
}
