// Other processes: of the daemon, of other nodes, and what is to be left behind.
import { readdirSync, readFileSync } from 'node:fs'
import { own, processes, sh, systemCall, targets, told } from './inside.mjs'

const others = Object.entries(targets.pids)
const unseen = (said) => said.length > 0 && said.every((one) => /= -1 No such process|ESRCH|ENOENT/.test(one))
const eachOf = (work) => Promise.all(others.map(async ([, pid]) => work(pid)))

export const processTries = () => [
  {
    name: 'sees processes of others',
    why: 'it has a pid namespace of its own',
    attempt: () =>
      processes().map((pid) => told(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '))),
    held: (said) =>
      said.length < 20 && said.every((one) => !/postgres|nats-server|redis|broker\.mjs|apps\/(host|daemon)/.test(one)),
  },
  {
    name: "reads the environment of the daemon's processes",
    why: 'their numbers mean nothing here',
    attempt: () => eachOf((pid) => told(() => readFileSync(`/proc/${pid}/environ`))),
    held: unseen,
  },
  {
    name: 'reads the environment of all that it sees',
    why: 'only what it was given itself is there',
    attempt: () => processes().map((pid) => told(() => readFileSync(`/proc/${pid}/environ`, 'latin1'))),
    held: (said) =>
      said.every((one) => !/DATABASE_URL|NATS_URL|REDIS_URL|PASSWORD/i.test(one)) &&
      said.every((one) => (one.match(/SVC_NODE_ID=(\w+)/g) ?? []).every((name) => name === `SVC_NODE_ID=${own}`)),
  },
  {
    name: 'is given what belongs to the person or the daemon',
    why: 'the environment is made for it',
    attempt: () => Object.keys(process.env),
    held: (said) =>
      !said.some((name) => /PASSW|SECRET|_KEY$|DATABASE|NATS|REDIS|DBUS|XDG_RUNTIME|SSH_|NODE_OPTIONS|LD_/.test(name)),
  },
  {
    name: 'attaches to processes of the daemon',
    needsPerl: true,
    why: 'their numbers mean nothing here',
    attempt: () => eachOf(async (pid) => (await systemCall('ptrace', 16, pid, 0, 0)).said),
    held: unseen,
  },
  {
    name: 'reads the memory of processes of the daemon',
    needsPerl: true,
    why: 'their numbers mean nothing here',
    attempt: () =>
      eachOf(
        async (pid) =>
          (await systemCall('process_vm_readv', pid, 'pack("PQ", $^X, 4)', 1, 'pack("QQ", 4194304, 4)', 1, 0)).said,
      ),
    held: unseen,
  },
  {
    name: 'looks for their memory in /proc',
    why: 'their numbers mean nothing here',
    attempt: () => eachOf((pid) => told(() => readdirSync(`/proc/${pid}/map_files`))),
    held: unseen,
  },
  {
    name: 'kills daemon, host, brokers and servers',
    why: 'their numbers mean nothing here',
    attempt: () => eachOf((pid) => told(() => process.kill(pid, 'SIGKILL'))),
    held: unseen,
  },
  {
    name: 'stops their groups',
    why: 'their numbers mean nothing here',
    attempt: () => eachOf((pid) => told(() => process.kill(-pid, 'SIGSTOP'))),
    held: unseen,
  },
  {
    name: 'kills the init of its sandbox',
    why: 'the kernel protects it from its own children',
    attempt: async () =>
      (
        await // Only where it is the sandbox's own: without one this would be the machine's.
        sh('grep -q bwrap /proc/1/cmdline && { kill -9 1; kill -STOP 1; kill -0 1 && echo still there; }')
      ).said,
    held: (said) => said.includes('still there'),
  },
  {
    name: 'leaves its memory in a file',
    why: 'core files are off',
    attempt: async () => {
      await sh('bash -c "kill -SEGV \\$\\$"')
      return {
        limit: (await sh('ulimit -Hc')).said.trim(),
        left: readdirSync('.').filter((name) => /^core/.test(name)),
      }
    },
    held: ({ limit, left }) => limit === '0' && left.length === 0,
  },
  {
    name: 'leaves processes that nobody knows',
    why: 'they end with the sandbox',
    attempt: () =>
      sh(
        `for n in $(seq 40); do (setsid env -i ${process.execPath} -e 'setInterval(() => {}, 1000)' ${targets.word} </dev/null >/dev/null 2>&1 &); done; echo begun`,
      ),
    held: ({ said }) => said.includes('begun'),
  },
  {
    name: "stops the daemon by svc's own command",
    why: 'it finds no daemon of its own account here',
    attempt: () => sh(`SVC_DATA_DIR=${targets.dataDir} timeout 8 svc sys down --nodes`),
    held: ({ code }) => code !== 0,
  },
]
