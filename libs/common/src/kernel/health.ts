import { once } from 'node:events'
import { createServer } from 'node:http'
import { version } from './version.js'

export interface HealthState {
  phase: 'starting' | 'serving' | 'draining'
  /** Rejects when the service can't serve now. */
  check(): Promise<void>
}

/**
 * Answers `GET /healthz` for a supervisor: 200 while the service serves, 503 with the reason otherwise.
 * `listen` is `host:port`; without it nothing listens.
 * It answers until the process ends.
 */
export async function listenForHealth(service: string, listen: string | undefined, state: HealthState): Promise<void> {
  if (!listen) return
  const server = createServer((request, response) => {
    const answer = (status: number, reason?: string): void => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ service, version, phase: state.phase, ...(reason && { reason }) }))
    }
    if (request.url !== '/healthz') answer(404)
    else if (state.phase !== 'serving') answer(503)
    else {
      state.check().then(
        () => answer(200),
        (error: Error) => answer(503, error.message),
      )
    }
  })
  const { hostname, port } = new URL(`http://${listen}`)
  server.unref()
  server.listen(Number(port), hostname.replace(/^\[|\]$/g, ''))
  await once(server, 'listening')
}
