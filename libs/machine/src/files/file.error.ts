export type FileErrorCode =
  | 'not_found'
  | 'not_a_file'
  | 'not_a_directory'
  | 'path_invalid'
  | 'path_outside_scope'
  | 'file_access_denied'
  | 'file_too_large'
  | 'precondition_failed'
  | 'already_exists'
  | 'storage_full'

/** Why a file was not read, listed or written; its message names the path as the caller gave it. */
export class FileError extends Error {
  constructor(
    readonly code: FileErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = 'FileError'
  }
}

export const systemCodeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code

const meanings: Readonly<Record<string, readonly [FileErrorCode, string]>> = {
  ENOENT: ['not_found', 'does not exist'],
  ESTALE: ['not_found', 'does not exist any more'],
  ELOOP: ['not_found', 'leads nowhere: its links go in a circle'],
  ENOTDIR: ['not_a_directory', 'is not a directory, or a part of the path is none'],
  EISDIR: ['not_a_file', 'is a directory'],
  ENXIO: ['not_a_file', 'is not a regular file'],
  ENODEV: ['not_a_file', 'is not a regular file'],
  ENAMETOOLONG: ['path_invalid', 'is too long'],
  EACCES: ['file_access_denied', 'may not be touched: permission denied'],
  EPERM: ['file_access_denied', 'may not be touched: the system does not permit it'],
  EROFS: ['file_access_denied', 'lies on a file system that is read-only'],
  EBUSY: ['file_access_denied', 'is in use by the system'],
  ETXTBSY: ['file_access_denied', 'is in use by the system'],
  EAGAIN: ['file_access_denied', 'is held by another program'],
  ENOSPC: ['storage_full', 'was not written: no space is left'],
  EDQUOT: ['storage_full', 'was not written: the quota is used up'],
  EFBIG: ['storage_full', 'was not written: the file system takes no file of that size'],
}

/** The same in our words; what tells of a fault of the machine rather than of the file stays as it is. */
export const fileErrorOf = (path: string, error: unknown): unknown => {
  const meaning = meanings[systemCodeOf(error) ?? '']
  return meaning ? new FileError(meaning[0], `${path} ${meaning[1]}.`, { cause: error }) : error
}
