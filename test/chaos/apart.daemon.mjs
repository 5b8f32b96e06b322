// The built daemon with the services that CHAOS_APART names in processes of their own, each started again when it ends, as
// containers are: what kills one of them leaves the others alone. Usage: CHAOS_APART=lifecycle,scheduler apart.daemon.mjs --foreground
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { serve } from '#apps/daemon/src/serve.js'
import { services } from '#apps/daemon/src/services.js'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { SupervisedProcess } from '#common/kernel/servers/supervised-process.js'

const apart = (process.env.CHAOS_APART ?? '').split(',')

class Nothing {}

/** @returns {Promise<string>} where nobody listens */
async function freeAddress() {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address()
  await once(server.close(), 'close')
  return `127.0.0.1:${port}`
}

/** @param {import('#common/kernel/service.js').ServiceSetup} setup */
async function open({ name, settings, log }) {
  const health = await freeAddress()
  const given = { ...settings, SVC_HEALTH_LISTEN: health }
  const texts = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
  const spec = {
    name,
    command: process.execPath,
    args: ['--enable-source-maps', join(projectRoot, `dist/apps/${name}/src/main.js`)],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...Object.fromEntries(texts) },
    fingerprint: health,
    stopSignal: 'SIGTERM',
    stopGraceMs: 20_000,
    readyWithinMs: 30_000,
    probe: async () => {
      const answer = await fetch(`http://${health}/healthz`)
      if (!answer.ok) throw new Error(await answer.text())
    },
  }
  const child = new SupervisedProcess(spec, openDataDirectory(settings.SVC_DATA_DIR), log)
  await child.start()
  return { close: () => child.stop() }
}

/** In the place of the service within the daemon stands the process that it runs in. */
const inProcess = ({ name }) => ({
  name,
  load: async () => ({ service: { name, module: () => Nothing, open: (_, setup) => open(setup) } }),
})

await serve(services.map((entry) => (apart.includes(entry.name) ? inProcess(entry) : entry)))
