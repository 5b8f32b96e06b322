import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { kindPattern, personaLimits } from '#common/contract/index.js'
import { PersonaFault, type PersonaFile, readPersona } from './persona.file.js'

const suffix = '.md'

/** What makes a file unusable for everybody, in words. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: 'the daemon may not read it',
  EISDIR: 'it is a directory',
  ELOOP: 'its links lead in a circle',
  ENXIO: 'it is not a regular file',
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code)

/** The owner's personas: files `<kind>.md` in one directory, read whenever one is used. */
export class PersonaDirectory {
  constructor(readonly path: string) {}

  /**
   * The persona of that name; undefined when there is no such file.
   *
   * @throws PersonaFault for one that can't be used.
   */
  async find(kind: string): Promise<PersonaFile | undefined> {
    if (!kindPattern.test(kind)) return undefined
    const text = await this.#read(kind)
    return text === undefined ? undefined : readPersona(text)
  }

  /** Names of all that there are, in order; of no more than can be shown. */
  async kinds(): Promise<string[]> {
    const names = await this.#names()
    return names
      .filter((name) => name.endsWith(suffix))
      .map((name) => name.slice(0, -suffix.length))
      .filter((name) => kindPattern.test(name))
      .sort()
      .slice(0, personaLimits.kinds)
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.path)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
  }

  async #read(kind: string): Promise<string | undefined> {
    try {
      // not blocking, should it be a pipe
      await using file = await open(join(this.path, kind + suffix), constants.O_RDONLY | constants.O_NONBLOCK)
      const stat = await file.stat()
      if (!stat.isFile()) throw new PersonaFault('it is not a regular file')
      if (stat.size > personaLimits.fileBytes) {
        throw new PersonaFault(`it has ${stat.size} bytes; at most ${personaLimits.fileBytes} are taken`)
      }
      return await file.readFile('utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      const reason = reasons[codeOf(error)]
      throw reason === undefined ? error : new PersonaFault(reason, { cause: error })
    }
  }
}
