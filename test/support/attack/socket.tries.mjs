// Whatever listens: servers of the daemon, of the system and of the person's session.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { converse, processes, targets, token, told } from './inside.mjs'

const closed = (said) =>
  said.length > 0 && said.every((one) => /^(ENOENT|ENOTDIR|ECONNREFUSED|EACCES|EPERM)$/.test(one))
const { sockets, natsPort, dataDir } = targets
const system = [
  ...['/run/docker.sock', '/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/podman/podman.sock'],
  ...['/run/dbus/system_bus_socket', '/run/systemd/private', '/run/systemd/notify', '/tmp/.X11-unix/X0'],
  ...['/var/run/postgresql/.s.PGSQL.5432', '/run/user/0/bus', '/run/user/1000/bus', '/run/snapd.socket'],
]

/** Ports that are listened to on this machine, by the kernel's list. */
const listening = () =>
  ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, 'utf8')
      .split('\n')
      .flatMap((line) => /^\s*\d+: \w+:(\w{4}) \w+:\w+ 0A /.exec(line)?.[1] ?? [])
      .map((port) => Number.parseInt(port, 16)),
  )

const greeting = (credentials) => [`CONNECT ${JSON.stringify({ verbose: false, ...credentials })}\r\n`, 'PING\r\n']
const bus = (credentials) => converse({ host: '127.0.0.1', port: natsPort }, greeting(credentials))
const guesses = ['lifecycle', 'gateway', 'host', 'models', 'admin', 'nats', 'svc', 'root', 'sys']

export const socketTries = () => [
  {
    name: "connects to the daemon's sockets",
    why: 'they lie in its directory',
    attempt: () => Promise.all(sockets.map((path) => converse({ path }))),
    held: closed,
  },
  {
    name: "connects to the database's socket",
    why: 'it lies there too',
    attempt: () => Promise.all(sockets.filter((path) => path.includes('.PGSQL.')).map((path) => converse({ path }))),
    held: closed,
  },
  {
    name: 'finds an address of database or bus in an environment',
    why: 'nothing that serves nodes is told one',
    attempt: () => processes().map((pid) => told(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))),
    held: (said) =>
      said.length > 0 && said.every((one) => !/(postgres(ql)?|nats|redis):\/\/|(DATABASE|NATS|REDIS)_URL/.test(one)),
  },
  {
    name: "connects to the system's sockets",
    why: '/run is not shown',
    attempt: () => Promise.all(system.map((path) => converse({ path }))),
    held: closed,
  },
  {
    name: 'finds anything in /run',
    why: 'of it only what names are looked up with is shown',
    attempt: () => (existsSync('/run') ? readdirSync('/run') : []),
    held: (said) => said.every((name) => /^(systemd|resolvconf|NetworkManager|current-system)$/.test(name)),
  },
  {
    name: 'finds a socket of the daemon without a file',
    why: 'none of it is abstract',
    attempt: () =>
      readFileSync('/proc/net/unix', 'utf8')
        .split('\n')
        .map((line) => line.split(' ').at(-1))
        .filter((name) => name.startsWith('@')),
    held: (said) => said.every((name) => !name.includes(dataDir) && !/svc/i.test(name)),
  },
  {
    name: 'joins the bus without a password',
    why: 'it takes one',
    attempt: async () => ({ listens: listening().includes(natsPort), said: await bus({}) }),
    held: ({ listens, said }) => listens && /-ERR/.test(said) && !/PONG/.test(said),
  },
  {
    name: 'joins the bus with guessed passwords',
    why: 'they are random',
    attempt: () => Promise.all(guesses.flatMap((user) => ['', user, 'password'].map((pass) => bus({ user, pass })))),
    held: (said) => said.every((one) => /-ERR/.test(one) && !/PONG/.test(one)),
  },
  {
    name: 'joins the bus with its own token',
    why: 'it is no password of the bus',
    attempt: () => Promise.all(guesses.map((user) => bus({ user, pass: token, auth_token: token }))),
    held: (said) => said.every((one) => /-ERR/.test(one) && !/PONG/.test(one)),
  },
]
