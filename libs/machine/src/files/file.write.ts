import { type BigIntStats, constants } from 'node:fs'
import { access, type FileHandle, link, lstat, mkdir, open, rename, unlink } from 'node:fs/promises'
import type { ChangeQueue } from './change.queue.js'
import { draftNameOf, type LeftDrafts } from './file.draft.js'
import { FileError, systemCodeOf } from './file.error.js'
import { type FileState, stateOf } from './file.state.js'
import { type PathBytes, pathIn, pathOfDescriptor } from './path.bytes.js'
import { type Directory, type Place, refuseUnlessWritable } from './path.place.js'
import { identityOf, type Terrain } from './path.terrain.js'
import { PathWalk } from './path.walk.js'

export interface WriteOptions {
  /** Write only if the file is in this state; `*`: only if there is one. */
  readonly ifMatch?: string
  /** Write only if there is no file yet. */
  readonly createOnly?: boolean
  /** Make missing directories on the way. */
  readonly parents?: boolean
  /** Is shown what is there right before it is replaced, undefined: nothing; throws when that must not be. */
  readonly check?: (before: FileState | undefined, path: string) => void
}

export interface WrittenFile extends FileState {
  /** As the caller sees it, links followed. */
  readonly path: string
  readonly created: boolean
}

interface Job {
  readonly place: Place
  readonly bytes: Buffer
  readonly options: WriteOptions
}

/** A link that was swapped in between is followed anew, so often. */
const attemptsAtMost = 8
const isRoot = process.geteuid?.() === 0

/**
 * Replaces a file as a whole: whoever reads it, whenever a process is killed, finds the old bytes or the new ones, and
 * after the answer the new ones also when the machine loses power. The bytes go into a draft beside the file, which takes
 * its name at the end; so another hard link to the old file keeps the old bytes. Permissions and owner stay, but not the
 * set-user-ID and set-group-ID bits, as with any write, and neither access lists nor extended attributes.
 */
export class FileWriter {
  constructor(
    private readonly terrain: Terrain,
    private readonly queue: ChangeQueue,
    private readonly drafts: LeftDrafts,
  ) {}

  /** @throws FileError, and what the system answers; then nothing was changed but that directories may have been made. */
  async write(path: string | Buffer, bytes: Buffer, options: WriteOptions): Promise<WrittenFile> {
    const make = options.parents && options.ifMatch === undefined ? this.#makerFor(String(path)) : undefined
    for (let attempt = 0; attempt < attemptsAtMost; attempt += 1) {
      await using place = await PathWalk.to(this.terrain, path, { ...(make && { make }) })
      if (/\/\.{0,2}$/.test(String(path))) throw new FileError('not_a_file', `${path} names a directory.`)
      place.refuseUnlessWritable()
      refuseOther(place.entry?.stat, place.asked)
      const { stat } = place.directory.entry as { stat: BigIntStats }
      const written = await this.queue.run(`${identityOf(stat)}/${place.name}`, () =>
        this.#replace({ place, bytes, options }),
      )
      if (written) return written
    }
    throw new FileError('file_access_denied', `${path} does not stay what it is for long enough to be written.`)
  }

  /** Undefined when a link has taken the place since it was walked to. */
  async #replace({ place, bytes, options }: Job): Promise<WrittenFile | undefined> {
    const { directory, name } = place
    // For the end: what can't be made durable is not begun.
    await using opened = await open(pathOfDescriptor(directory.fd), constants.O_RDONLY | constants.O_DIRECTORY)
    const before = await this.#look(directory, name)
    if (before?.isSymbolicLink()) return undefined
    await refuseUnfit(before, place, options)
    const draft = draftNameOf(name)
    const file = await open(
      pathIn(directory.fd, draft),
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      before ? 0o600 : 0o666,
    )
    try {
      await this.#fill(file, bytes, before, place.asked)
      await this.drafts.sweep(directory, (await file.stat()).mtimeMs)
      if (options.ifMatch !== undefined || options.check)
        await refuseUnfit(await this.#look(directory, name), place, options)
      await (options.createOnly ? putNew : putOver)(directory, draft, name)
    } catch (error) {
      await file.close()
      await unlink(pathIn(directory.fd, draft)).catch((failure: unknown) => {
        if (systemCodeOf(failure) !== 'ENOENT') throw new AggregateError([error, failure], `${draft} was left behind`)
      })
      throw alreadyThere(error, place)
    }
    await using written = file
    await opened.sync()
    return { ...stateOf(await written.stat({ bigint: true })), path: place.path, created: !before }
  }

  async #fill(file: FileHandle, bytes: Buffer, before: BigIntStats | undefined, asked: string): Promise<void> {
    const owner = before ? { uid: Number(before.uid), gid: Number(before.gid) } : this.terrain.view.owner
    if (isRoot && owner) await give(file, owner, asked)
    if (before) await file.chmod(Number(before.mode) & 0o1777)
    for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
    await file.sync()
  }

  async #look(directory: Directory, name: PathBytes): Promise<BigIntStats | undefined> {
    try {
      return await lstat(pathIn(directory.fd, name), { bigint: true })
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Makes directories on the way as a program would: for everybody whom the umask lets. */
  #makerFor(asked: string) {
    return async (directory: Directory, name: PathBytes): Promise<void> => {
      refuseUnlessWritable(directory, asked)
      try {
        await mkdir(pathIn(directory.fd, name), 0o777)
      } catch (error) {
        if (systemCodeOf(error) === 'EEXIST') return
        throw error
      }
      const { owner } = this.terrain.view
      const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
      await using made = await open(pathIn(directory.fd, name), flags)
      if (isRoot && owner) await give(made, owner, asked)
      await using above = await open(pathOfDescriptor(directory.fd), constants.O_RDONLY | constants.O_DIRECTORY)
      await above.sync()
    }
  }
}

const give = async (file: FileHandle, owner: { uid: number; gid: number }, asked: string): Promise<void> => {
  const { uid, gid } = await file.stat()
  if (uid === owner.uid && gid === owner.gid) return
  try {
    await file.chown(owner.uid, owner.gid)
  } catch (error) {
    throw new FileError('file_access_denied', `${asked} belongs to another account, which it can't be left to.`, {
      cause: error,
    })
  }
}

const refuseOther = (stat: BigIntStats | undefined, asked: string): void => {
  if (stat?.isDirectory()) throw new FileError('not_a_file', `${asked} is a directory.`)
  if (stat && !stat.isFile()) throw new FileError('not_a_file', `${asked} is not a regular file.`)
}

/** @throws FileError when what is there now is not what may be replaced. */
const refuseUnfit = async (
  before: BigIntStats | undefined,
  { asked, entry, path }: Place,
  { ifMatch, createOnly, check }: WriteOptions,
): Promise<void> => {
  refuseOther(before, asked)
  if (createOnly && before) throw new FileError('already_exists', `${asked} exists already.`)
  if (ifMatch !== undefined && (!before || (ifMatch !== '*' && ifMatch !== stateOf(before).etag)))
    throw new FileError(
      'precondition_failed',
      before ? `${asked} was changed meanwhile: it has another etag.` : `${asked} does not exist, or not any more.`,
    )
  check?.(before && stateOf(before), path)
  // A program that opened it for writing would be refused as well, though its directory lets it be replaced.
  if (before && entry) await access(pathOfDescriptor(entry.handle.fd), constants.W_OK)
}

const putOver = (directory: Directory, draft: PathBytes, name: PathBytes): Promise<void> =>
  rename(pathIn(directory.fd, draft), pathIn(directory.fd, name))

/** Takes a name only if it is free, whoever else wants it. */
const putNew = async (directory: Directory, draft: PathBytes, name: PathBytes): Promise<void> => {
  try {
    await link(pathIn(directory.fd, draft), pathIn(directory.fd, name))
  } catch (error) {
    if (!['EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(systemCodeOf(error) ?? '')) throw error
    // A file system without hard links: an empty file takes the name.
    await (
      await open(pathIn(directory.fd, name), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    ).close()
    await putOver(directory, draft, name)
    return
  }
  await unlink(pathIn(directory.fd, draft))
}

const alreadyThere = (error: unknown, { asked }: Place): unknown =>
  systemCodeOf(error) === 'EEXIST'
    ? new FileError('already_exists', `${asked} exists already.`, { cause: error })
    : error
