import { isUtf8 } from 'node:buffer'
import { Inject, Injectable } from '@nestjs/common'
import type { InputOf, OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import { machineLimits } from '#common/contract/machine.schema.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { ConfinedFiles } from '#machine/files/confined.files.js'
import { FileError } from '#machine/files/file.error.js'
import type { DirectoryEntry, DirectoryPage } from '#machine/files/file.list.js'
import type { FilePiece } from '#machine/files/file.read.js'
import { bufferOf, textOf } from '#machine/files/path.bytes.js'
import { FileViews } from './file.views.js'

type Operations = typeof contract
type Entry = OutputOf<Operations['files.list']>['data'][number]

/** Reads, writes and lists the machine's files for whoever may see them. */
@Injectable()
export class FileService {
  constructor(@Inject(FileViews) private readonly views: FileViews) {}

  /** @throws SvcError `not_found`, `path_outside_scope`, `file_access_denied`, `not_a_file`, `not_a_directory`. */
  async read(ctx: Context, { path, ...request }: InputOf<Operations['files.read']>) {
    return this.#with(ctx, path, async (files) => pieceOf(await files.read(path, request), request.offset))
  }

  /**
   * @throws SvcError as `read`; `file_too_large`, `precondition_failed`, `already_exists`, `storage_full`; in every case
   * the file is as it was.
   */
  async write(ctx: Context, input: InputOf<Operations['files.write']>): Promise<OutputOf<Operations['files.write']>> {
    const { path, if_match, create_only, parents } = input
    const bytes = bytesOf(input)
    return this.#with(ctx, path, async (files) => {
      const { created, mtimeMs, ...written } = await files.write(path, bytes, {
        limit: machineLimits.writeBytes,
        ...(if_match !== undefined && { ifMatch: if_match }),
        ...(create_only && { createOnly: true }),
        ...(parents && { parents: true }),
      })
      return { ...written, created, mtime: timeOf(mtimeMs) }
    })
  }

  /** @throws SvcError as `read`. */
  async list(ctx: Context, { path, limit, after }: InputOf<Operations['files.list']>) {
    const { signal } = ctx
    return this.#with(ctx, path, async (files) =>
      pageOf(await files.list(path, { limit, signal, ...(after !== undefined && { after: nameOf(after) }) })),
    )
  }

  async #with<T>({ actor }: Context, path: string, work: (files: ConfinedFiles) => Promise<T>): Promise<T> {
    const view = await this.views.of(actor)
    try {
      return await work(new ConfinedFiles(view))
    } catch (error) {
      throw error instanceof FileError ? refusalOf(error, path) : error
    }
  }
}

const refusalOf = ({ code, message }: FileError, path: string): SvcError => {
  if (code === 'path_invalid')
    return new SvcError('validation_failed', message, { errors: [{ pointer: '/path', message }] })
  const limit = code === 'file_too_large' ? { limit: machineLimits.writeBytes } : {}
  return new SvcError(code, message, { path, ...limit })
}

const invalid = (pointer: string, message: string): SvcError =>
  new SvcError('validation_failed', message, { errors: [{ pointer, message }] })

/** What is to be written. @throws SvcError `validation_failed` for base64 that is none. */
const bytesOf = ({ content, base64 }: { content?: string | undefined; base64?: string | undefined }): Buffer => {
  if (base64 === undefined) return Buffer.from(content ?? '')
  const bytes = Buffer.from(base64, 'base64')
  // Node skips what is no base64, and what comes after its end.
  if (bytes.toString('base64') !== base64) throw invalid('/base64', 'is not base64 (RFC 4648, with padding)')
  return bytes
}

const timeOf = (ms: number): string => new Date(ms).toISOString()

const pieceOf = (
  { path, content, size, end, mtimeMs, etag }: FilePiece,
  offset: number,
): OutputOf<Operations['files.read']> => ({
  path,
  ...('text' in content
    ? { encoding: 'utf8', content: content.text }
    : { encoding: 'base64', base64: content.bytes.toString('base64') }),
  size,
  offset,
  next_offset: end < size ? end : null,
  truncated: end < size,
  mtime: timeOf(mtimeMs),
  etag,
})

const entryOf = ({ name, type, size, mode, mtimeMs, target }: DirectoryEntry): Entry => ({
  name: textOf(name),
  ...(!isUtf8(bufferOf(name)) && { name_base64: bufferOf(name).toString('base64') }),
  type,
  size,
  mode: mode.toString(8).padStart(4, '0'),
  mtime: timeOf(mtimeMs),
  ...(target !== undefined && { target: textOf(target) }),
})

const pageOf = ({ path, entries, next }: DirectoryPage): OutputOf<Operations['files.list']> => ({
  path,
  data: entries.map(entryOf),
  truncated: next !== undefined,
  next_cursor: next === undefined ? null : bufferOf(next).toString('base64url'),
  has_more: next !== undefined,
})

/** The name that a cursor stands for. @throws SvcError `validation_failed` for what no page ever gave out. */
const nameOf = (cursor: string): string => {
  const name = Buffer.from(cursor, 'base64url')
  const canonical = name.toString('base64url') === cursor
  if (!canonical || name.length === 0 || name.length > 255 || name.includes(0) || name.includes('/'))
    throw invalid('/after', 'is not the cursor of a page')
  return name.toString('latin1')
}
