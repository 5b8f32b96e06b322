// Renames and replaces what paths lead through, as fast as it can, until it is killed. Arguments: work, outside.
import { linkSync, openSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'

const [work, outside] = process.argv.slice(2)
process.chdir(work)
// By descriptors, so that it moves nothing outside itself.
const dir = `/proc/self/fd/${openSync('dir')}`
const swap = `/proc/self/fd/${openSync('swap')}`
const attempts = [
  () => symlinkSync(outside, 'swap-out'),
  () => symlinkSync('../outside/a', 'swap-file'),
  () => renameSync('dir', 'dir-away'),
  () => renameSync('swap-out', 'dir'),
  () => renameSync('dir', 'swap-out'),
  () => renameSync('dir-away', 'dir'),
  () => renameSync(`${dir}/deep`, `${swap}/deep`),
  () => renameSync(`${swap}/deep`, `${dir}/deep`),
  () => renameSync('a', 'a-away'),
  () => renameSync('swap-file', 'a'),
  () => renameSync('a', 'swap-file'),
  () => linkSync('pipe', 'a'),
  () => unlinkSync('a'),
  () => linkSync('device', 'a'),
  () => unlinkSync('a'),
  () => renameSync('a-away', 'a'),
  () => renameSync('dir', `${swap}/dir`),
  () => renameSync(`${swap}/dir`, 'dir'),
  () => symlinkSync(`/proc/self/root${outside}`, 'to'),
  () => unlinkSync('to'),
  () => symlinkSync('dir', 'to'),
  () => unlinkSync('to'),
]
for (;;) {
  for (const attempt of attempts) {
    try {
      attempt()
    } catch {
      // Somebody was quicker.
    }
  }
}
