import { Injectable } from '@nestjs/common'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers } from '#common/kernel/scopes.js'
import type { NodeRecord } from '../node/node.record.js'
import { HostRegistry, type KnownHost } from '../supervision/host.registry.js'
import { ConsentRepository } from './consent.repository.js'

type Worker = Pick<NodeRecord, 'engine' | 'scopes'>

/** Whether a node starts programs: its own, or what its model asks for. */
export const runsPrograms = ({ engine, scopes }: Worker): boolean => engine === 'exec' || covers(scopes, 'svc:act')

/** Where no sandbox can be had, nodes that run programs wait for the owner's word. */
@Injectable()
export class SandboxGate {
  constructor(
    private readonly hosts: HostRegistry,
    private readonly consents: ConsentRepository,
  ) {}

  /**
   * Before a node is made. While no host is known nothing is refused: its launch asks again.
   *
   * @throws SvcError sandbox_required
   */
  async requireSomewhere(reader: Reader, node: Worker): Promise<void> {
    const hosts = this.hosts.present()
    if (!runsPrograms(node) || hosts.length === 0 || hosts.some((host) => host.sandbox.level !== 'none')) return
    await this.requireConsent(reader, hosts[0] as KnownHost)
  }

  /**
   * Whether the node runs on this host without a sandbox, as the owner agreed to.
   *
   * @throws SvcError sandbox_required
   */
  async requireOn(reader: Reader, host: KnownHost, node: Worker): Promise<boolean> {
    if (!runsPrograms(node) || host.sandbox.level !== 'none') return false
    await this.requireConsent(reader, host)
    return true
  }

  private async requireConsent(reader: Reader, { host_id, sandbox }: KnownHost): Promise<void> {
    if (await this.consents.standing(reader)) return
    throw new SvcError('sandbox_required', `Host ${host_id} has no sandbox for what nodes run: ${sandbox.detail}`, {
      host_id,
      detail: sandbox.detail,
    })
  }
}
