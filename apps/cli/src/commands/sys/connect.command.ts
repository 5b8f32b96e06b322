import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { repeated } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { openAccess, urlAt } from './connect.access.js'
import { type AppOptions, connectApp } from './connect.app.js'
import { exportLines } from './connect.lines.js'
import { connectScopes } from './connect.scopes.js'

interface ConnectOptions extends Partial<AppOptions> {
  readonly listen?: readonly string[]
  readonly origin?: readonly string[]
}

const about = `Without options: the owner's token. Whoever holds it can do everything that you can.

With --app: a new token for that app, shown this once. It permits what --scopes lists, within the grant of the app as it
is at the time; without --scopes it follows the grant; an empty list permits nothing. The address is that of the
application listener, which serves what is made for apps: runs, uploads, attachments, shares, questions, the app's grant
and the tools of providers. The same token works at the owner's address too, for what its scopes open there (nodes,
files and commands with svc:act) and nothing of the owner's.

With --listen or --origin: the owner's API is opened to other machines or to pages of a browser, until it is closed by
\`svc sys access close\`.

--scopes takes ${connectScopes.join(', ')}.`

export const registerConnect = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'connect', {
    calls: ['system.status'],
    mayCall: ['tokens.create', 'access.retrieve', 'access.update'],
    gate: 'machine',
    summary: "Print the daemon's address and a token: the owner's, or a new one for an app",
    about,
    examples: [
      ['eval "$(svc sys connect)"', 'connect programs of this shell'],
      ['svc sys connect --json', '{"base_url": …, "token": …}'],
      ['svc sys connect --app notes', 'a token that may do what the app was granted'],
      ['svc sys connect --app notes --scopes svc:llm,svc:memory:rw:app', 'less than that'],
      ['svc sys connect --listen 0.0.0.0:7430', 'reach the daemon from other machines'],
    ],
  })
    .option('--app <app>', 'a new token for this app, by its id or name')
    .option('--scopes <list>', 'what it permits, separated by commas')
    .option('--label <text>', 'what it is for, to tell it from others')
    .option('--expires <time>', 'so long it works: 12h, 30d, never; 90d unless given')
    .option('--listen <host:port>', "open the owner's API at this address too; may be repeated", repeated)
    .option('--origin <origin>', "let pages of this origin call the owner's API; may be repeated", repeated)
  performs<ConnectOptions>(made, shell, async (call) => {
    const { app, ...options } = call.options
    requireFitting(call.options)
    if (app !== undefined) await connectApp(await call.client(), { app, ...options }, call.out, call.json)
    else await connectOwner(call)
  })
}

/** @throws UsageError for options that mean nothing together */
const requireFitting = ({ app, listen, origin, ...ofApp }: ConnectOptions): void => {
  const [without] = (['scopes', 'label', 'expires'] as const).filter((name) => ofApp[name] !== undefined)
  if (app === undefined && without) {
    throw new UsageError(`--${without} is of a token for an app`, 'say which with --app <id or name>')
  }
  if (app !== undefined && (listen || origin)) {
    throw new UsageError(
      "--listen and --origin open the owner's API, and exclude --app",
      'pages that may call for an app stand with the app: `svc app --help`',
    )
  }
}

const connectOwner = async ({ connection, client, out, json, options }: Invocation<ConnectOptions>): Promise<void> => {
  const { baseUrl, token } = connection()
  if (token === undefined) {
    throw new UsageError('there is no token yet', 'start the daemon with `svc sys up`: it makes one at its first start')
  }
  const svc = await client()
  // Says at once when the daemon is away or doesn't take this token.
  await svc.system.status()
  const { listen = [], origin = [] } = options
  const access = listen.length || origin.length ? await openAccess(svc, { listen, origin }) : undefined
  const [first] = listen
  const reached = access && first !== undefined ? urlAt(access, first, out) : baseUrl
  if (json) out.json({ base_url: reached, token })
  else out.line(exportLines(reached, token))
}
