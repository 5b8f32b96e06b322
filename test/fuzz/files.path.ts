import type { Random } from '../chaos/random.js'
import type { Arena } from './files.arena.js'

/** Names that are there, or may be, when the swapper has just been at work. */
const names = [
  ...['a', 'dir', 'deep', 'linked', 'out', 'to', 'loop', 'pipe', 'device', 'terminal', 'new'],
  ...['mounted-proc', 'mounted-tmpfs', 'hidden', 'own', 'frozen', 'frozen.txt', 'absent-frozen', 'sub', 'absent'],
]
/** What is there at most times. */
const likely = ['a', 'a', 'a', 'dir', 'dir', 'deep', 'linked', 'out', 'to', 'swap', 'own']
const planted = ['a', 'deep', 'linked', 'out', 'to', 'loop', 'new', 'sub', 'absent']
const odd = ['', '.', '..', '...', '..\\..', ' ', '~', '*', '-', '%2e%2e', '..;', '\n', '\u202e', 'ä', '\u{1f600}']
const kernels = [
  '/proc/self/root',
  '/proc/self/cwd',
  '/proc/self/fd/0',
  '/proc/self/fd/5',
  '/proc/1/root',
  '/sys/kernel',
]
/**
 * Where a walk would be turned aside. Were the confinement broken, a write would really go there: nothing of the machine's
 * own is among them that could be harmed.
 */
const ways = (arena: Arena): string[] => [
  ...[arena.outside, arena.work, `${arena.base}/mount`, `${arena.base}/name`, arena.base, '/tmp'],
  ...[`/proc/self/root${arena.outside}`, `${arena.work}/hidden/own`, `${arena.work}/hidden`, ...kernels],
]
/** For those who only read. */
export const machinePaths = [
  ...['/dev/fd/0', '/dev/fd/9', '/dev/stdin', '/dev/zero', '/dev/tty', '/dev/pts/0', '/run', '/etc/passwd', '/bin/sh'],
  ...['/dev/', '/', '/proc/', '/sys/', '/dev/shm/'],
]

const strange = (random: Random): Buffer => {
  const length = random.pick([1, 2, 5, 100, 255, 256, 1000])
  return Buffer.from(Array.from({ length }, () => random.pick([0xff, 0xfe, 0xc0, 0x80, 0xe2, 0x82, 0x41, 0xed, 0xa0])))
}

const component = (random: Random): Buffer => {
  const kind = random.next()
  if (kind < 0.6) return Buffer.from(random.pick(likely))
  if (kind < 0.74) return Buffer.from(random.pick(names))
  if (kind < 0.88) return Buffer.from('..')
  if (kind < 0.93) return Buffer.from(random.pick(odd))
  if (kind < 0.955) return Buffer.from('n'.repeat(random.pick([200, 254, 255, 256, 4000])))
  if (kind < 0.98) return strange(random)
  return Buffer.from(random.pick(['\0', 'a\0', '\0/../..', '../\0', 'dir\0/a']))
}

const usualLengths = [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 8]
const slash = Buffer.from('/')

/** A path that leads somewhere, or tries to. */
export const pathOf = (random: Random, arena: Arena): Buffer => {
  const start = random.next()
  const parts: Buffer[] = []
  if (start < 0.45) parts.push(Buffer.from(`${arena.work}/`))
  else if (start < 0.6) parts.push(Buffer.from(`${random.pick(ways(arena))}/`))
  const length = random.next() < 0.03 ? random.pick([50, 300, 2000]) : random.pick(usualLengths)
  for (let at = 0; at < length; at += 1) {
    parts.push(component(random))
    if (at < length - 1 || random.next() < 0.1) parts.push(random.next() < 0.05 ? Buffer.from('///') : slash)
  }
  return Buffer.concat(parts)
}

/** What a link is made to say. */
export const linkTargetOf = (random: Random, arena: Arena): Buffer => {
  const kind = random.next()
  if (kind < 0.3) return Buffer.from(random.pick(ways(arena)))
  if (kind < 0.6)
    return Buffer.from(
      `${'../'.repeat(random.between(1, 6))}${random.pick(['outside', 'outside/a', 'mount', 'work/dir', ''])}`,
    )
  if (kind < 0.8) return Buffer.from(random.pick(names))
  const path = pathOf(random, arena).subarray(0, 4000)
  return path.includes(0) || path.length === 0 ? Buffer.from('loop') : path
}

/** A name for something planted in the way. */
export const plantedNameOf = (random: Random): string => random.pick(planted)
