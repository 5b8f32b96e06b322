import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Milliseconds that an engine has to answer a ping. */
const patience = 3000

/**
 * Whether a Docker Engine answers here, asked over its socket or `DOCKER_HOST`; no command line is needed.
 * Never throws.
 */
export function engineAnswers(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  const target = engineAddress(env)
  if (!target) return Promise.resolve(false)
  return new Promise((resolve) => {
    const ping = request({ ...target, path: '/_ping', timeout: patience }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    ping.on('timeout', () => ping.destroy())
    ping.on('error', () => resolve(false))
    ping.end()
  })
}

/**
 * Settings that Testcontainers needs before it is loaded. Its reaper is an image that may not be there to pull: the
 * test run has one of its own, which ends with the run however that ends.
 */
export function prepareTestcontainers(env: NodeJS.ProcessEnv = process.env): void {
  env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  if (!env.DOCKER_HOST || env.DOCKER_HOST.startsWith('unix:')) env.TESTCONTAINERS_HOST_OVERRIDE ??= '127.0.0.1'
}

interface EngineAddress {
  socketPath?: string
  host?: string
  port?: number
}

function engineAddress(env: NodeJS.ProcessEnv): EngineAddress | undefined {
  if (env.DOCKER_HOST?.startsWith('unix://')) return { socketPath: env.DOCKER_HOST.slice('unix://'.length) }
  if (env.DOCKER_HOST) {
    const { hostname, port } = new URL(env.DOCKER_HOST)
    return { host: hostname, port: Number(port || 2375) }
  }
  const sockets = [
    '/var/run/docker.sock',
    join(env.XDG_RUNTIME_DIR ?? '/nonexistent', 'docker.sock'),
    join(homedir(), '.docker/run/docker.sock'),
  ]
  const socketPath = sockets.find((path) => existsSync(path))
  return socketPath ? { socketPath } : undefined
}
