import { type DynamicModule, Module } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { installMissingTools } from '#common/kernel/servers/tool-install.js'
import type { ServiceDefinition, ServiceSetup } from '#common/kernel/service.js'
import { ArgvHandlers } from './argv/argv.handlers.js'
import { ArgvService } from './argv/argv.service.js'
import { BashHandlers } from './bash/bash.handlers.js'
import { BashService } from './bash/bash.service.js'
import { BrokerFactory } from './broker/broker.factory.js'
import { BrokerHandlers } from './broker/broker.handlers.js'
import { BrokerService } from './broker/broker.service.js'
import { FileHandlers } from './files/file.handlers.js'
import { FileService } from './files/file.service.js'
import { FileViews } from './files/file.views.js'
import { HeartbeatService } from './heartbeat/heartbeat.service.js'
import { HostLifetime } from './host.lifetime.js'
import { HOST_PLACE, type HostPlace, hostPlaceOf } from './host.place.js'
import { JobHandlers } from './job/job.handlers.js'
import { JobService } from './job/job.service.js'
import { JobTeller } from './job/job.teller.js'
import { NodeSweeper } from './sandbox/node.sweeper.js'
import { findSandboxGround, SANDBOX_GROUND } from './sandbox/sandbox.ground.js'
import { SandboxPlanner } from './sandbox/sandbox.planner.js'
import { WorktreeHandlers } from './worktree/worktree.handlers.js'
import { WorktreeService } from './worktree/worktree.service.js'

/** Lifecycle's hand on this machine: the parent of every broker. It keeps no state of the canvas and no database. */
@Module({})
export class HostModule {
  static forRoot({ settings, log }: ServiceSetup): DynamicModule {
    const { NATS_URL: url, SVC_HOST_ID: hostId } = settings
    if (!url) throw new Error('NATS_URL is not set: the host takes its commands from the bus')
    return {
      module: HostModule,
      imports: [
        BusModule.forRoot({
          service: 'host',
          url,
          name: `svc-host-${hostId}`,
          operations,
          hostId,
          log,
          listen: 'explicit',
        }),
      ],
      providers: [
        { provide: HOST_PLACE, useFactory: () => hostPlaceOf(settings) },
        {
          provide: SANDBOX_GROUND,
          useFactory: async (place: HostPlace) => {
            if (settings.SVC_INSTALL_PACKAGES === 'auto') await installMissingTools(place.data, log)
            return findSandboxGround(place)
          },
          inject: [HOST_PLACE],
        },
        SandboxPlanner,
        NodeSweeper,
        BashService,
        BashHandlers,
        ArgvService,
        ArgvHandlers,
        BrokerFactory,
        BrokerService,
        BrokerHandlers,
        FileViews,
        FileService,
        FileHandlers,
        JobService,
        JobHandlers,
        JobTeller,
        WorktreeService,
        WorktreeHandlers,
        HeartbeatService,
        HostLifetime,
      ],
    }
  }
}

export const service: ServiceDefinition = { name: 'host', module: (setup) => HostModule.forRoot(setup) }
