// The person's home: what runs when they log in, and what opens doors elsewhere.
import { appendFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { cwd, targets, told } from './inside.mjs'

const { started, credentials, home } = targets
const gone = (said) => said.every((one) => /^(EROFS|EBUSY|EACCES|EPERM|EXDEV|ENOTEMPTY|ENOENT)$/.test(one))
/** Where the home itself is not the working directory, it is the node's own: what is written there is nobody else's. */
const heldAt = (said) => cwd !== home || gone(said)
const within = (names) => names.map((name) => `${home}/${name}`)

export const homeTries = () => [
  {
    name: 'reads credentials of the person',
    why: 'they are hidden, or not there',
    attempt: () => within(credentials).map((path) => told(() => readFileSync(path))),
    held: (said) => said.every((one) => /^(ENOENT|EACCES|ENOTDIR)$/.test(one) || one === 'got '),
  },
  {
    name: 'moves credentials to where they are not hidden',
    why: 'what is mounted on is not moved',
    attempt: () => within(['.ssh', '.netrc', '.local']).map((path) => told(() => renameSync(path, `${home}/moved`))),
    held: heldAt,
  },
  {
    name: 'appends to what runs at login',
    why: 'it stays as it is',
    attempt: () => within(started).map((path) => told(() => appendFileSync(path, 'touch /tmp/attacked\n'))),
    held: heldAt,
  },
  {
    name: 'replaces what runs at login',
    why: 'what is mounted on is not replaced',
    attempt: () =>
      within(started).map((path) =>
        told(() => {
          writeFileSync(`${path}.new`, 'touch /tmp/attacked\n')
          renameSync(`${path}.new`, path)
        }),
      ),
    held: heldAt,
  },
  {
    name: 'removes what runs at login',
    why: 'what is mounted on is not removed',
    attempt: () => within(started).map((path) => told(() => unlinkSync(path))),
    held: heldAt,
  },
  {
    name: 'puts a link or a directory in the place of the data directory',
    why: 'it is mounted on, as all above it is',
    attempt: () => [
      told(() => renameSync(targets.dataDir, `${home}/data`)),
      told(() => symlinkSync('/', targets.dataDir)),
      told(() => mkdirSync(targets.dataDir)),
    ],
    held: (said) => said.every((one) => cwd !== home || /^(ENOENT|EBUSY|EEXIST|EXDEV|EROFS|EACCES|EPERM)$/.test(one)),
  },
]
