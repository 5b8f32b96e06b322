/**
 * Paths are bytes, and a name need not be UTF-8. Inside of this directory a path is a string of one character a byte
 * (latin1), which is compared, cut and sorted as the bytes are.
 */
export type PathBytes = string

const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text)

export const bytesOf = (path: string | Buffer): PathBytes =>
  typeof path !== 'string' ? path.toString('latin1') : isAscii(path) ? path : Buffer.from(path).toString('latin1')

/** For people and JSON; what is no UTF-8 shows as U+FFFD. */
export const textOf = (path: PathBytes): string => (isAscii(path) ? path : Buffer.from(path, 'latin1').toString())

export const bufferOf = (path: PathBytes): Buffer => Buffer.from(path, 'latin1')

/** What a system call takes. */
const argumentOf = (path: PathBytes): string | Buffer => (isAscii(path) ? path : bufferOf(path))

/** The file itself that a descriptor stands for, whatever became of its name. */
export const pathOfDescriptor = (fd: number): string => `/proc/self/fd/${fd}`

/** A name in an open directory: nothing on the way there can be swapped. */
export const pathIn = (fd: number, name: PathBytes): string | Buffer => argumentOf(`/proc/self/fd/${fd}/${name}`)

export const joined = (directory: PathBytes, name: PathBytes): PathBytes =>
  directory === '/' ? `/${name}` : `${directory}/${name}`

/** Whether `inner` is `outer` or lies beneath it; both absolute, without `.` and `..`. */
export const within = (inner: PathBytes, outer: PathBytes): boolean =>
  inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`)

/** An absolute path without `.`, `..` and doubled slashes, by its text alone. */
export const lexical = (path: PathBytes): PathBytes => {
  const names: PathBytes[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}`
}
