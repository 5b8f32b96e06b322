import { engineAnswers, prepareTestcontainers } from './container-engine.js'
import { startProcesses } from './process-servers.js'
import { RunKeeper } from './run-keeper.js'
import type { ServerAddresses, ServerMode } from './server-addresses.js'
import { makeTemplate } from './template-database.js'

export interface TestServers {
  /** For the workers: `SVC_TEST_*`, read by the kit in this folder. */
  environment: Record<string, string>
  stop(): Promise<void>
}

/**
 * Brings up Postgres, Redis and NATS for one test run, in containers where a Docker Engine answers, else as processes;
 * `SVC_TEST_SERVERS=docker|process` decides instead. Makes the template database. All of it is gone after `stop`, and
 * also when the run is killed.
 */
export async function startTestServers({ workers }: { workers: number }): Promise<TestServers> {
  const started = performance.now()
  const engine = await engineAnswers()
  const keeper = new RunKeeper()
  try {
    const servers = await start(chosenMode(engine), workers, keeper)
    const template = await makeTemplate(servers.postgresUrl)
    say(
      `${servers.mode}${servers.mode === 'docker' ? ' (containers)' : 'es of this machine'}, ready in ${Math.round(performance.now() - started)} ms`,
    )
    return {
      environment: {
        SVC_TEST_ENGINE: engine ? 'yes' : 'no',
        SVC_TEST_MODE: servers.mode,
        SVC_TEST_POSTGRES_URL: servers.postgresUrl,
        SVC_TEST_TEMPLATE: template,
        SVC_TEST_REDIS_URL: servers.redisUrl,
        SVC_TEST_NATS_URLS: servers.natsUrls.join(','),
      },
      stop: async () => {
        await servers.stop?.()
        await keeper.close()
      },
    }
  } catch (error) {
    await keeper.close()
    throw error
  }
}

async function start(mode: ServerMode, workers: number, keeper: RunKeeper): Promise<ServerAddresses> {
  if (mode === 'process') return startProcesses(workers, keeper)
  prepareTestcontainers()
  try {
    const { startContainers } = await import('./container-servers.js')
    return await startContainers(workers, keeper)
  } catch (error) {
    if (process.env.SVC_TEST_SERVERS) throw error
    say(
      `the containers did not start, so the servers run as processes (${error instanceof Error ? error.message : error})`,
    )
    return startProcesses(workers, keeper)
  }
}

function chosenMode(engine: boolean): ServerMode {
  const forced = process.env.SVC_TEST_SERVERS
  if (!forced) return engine ? 'docker' : 'process'
  if (forced !== 'docker' && forced !== 'process') throw new Error('SVC_TEST_SERVERS is docker or process')
  if (forced === 'docker' && !engine) throw new Error('SVC_TEST_SERVERS=docker, but no container engine answers')
  return forced
}

function say(what: string): void {
  process.stderr.write(`\n*** test servers: ${what}\n`)
}
