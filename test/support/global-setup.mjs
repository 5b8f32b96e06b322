// Runs once before the integration and end-to-end tiers: brings up the servers and puts their addresses into the
// environment, which Jest's workers inherit.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export default async function setup({ maxWorkers }) {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  })
  const { startTestServers } = await import('#common/testing/test-servers.js')
  const servers = await startTestServers({ workers: maxWorkers })
  Object.assign(process.env, servers.environment)
  globalThis.svcTestServers = servers
}
