import type { FileHandle } from 'node:fs/promises'
import { statfs } from 'node:fs/promises'
import { FileError } from './file.error.js'
import { pathOfDescriptor } from './path.bytes.js'

/**
 * File systems that show the kernel or other processes rather than files: their "files" may block, act when they are
 * written, or lead to what a process has open. By the number that statfs(2) answers.
 */
const refused: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x1cd1, 'devpts'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
  [0xcafe4a11, 'bpf'],
  [0x62656570, 'configfs'],
  [0xde5e81e4, 'efivarfs'],
  [0x19800202, 'mqueue'],
  [0x42494e4d, 'binfmt_misc'],
  [0x6165676c, 'pstore'],
  [0xf97cff8c, 'selinuxfs'],
  [0x43415d53, 'smackfs'],
  [0x6e736673, 'nsfs'],
  [0x50495045, 'pipefs'],
  [0x534f434b, 'sockfs'],
  [0x09041934, 'anon_inode'],
  [0x65735543, 'fusectl'],
  [0x67596969, 'rpc_pipefs'],
  [0x7655821, 'resctrl'],
  [0x0187, 'autofs'],
])

/** @throws FileError for a file system of the kernel's own. */
export const refuseKernelFiles = async (file: FileHandle, path: string): Promise<void> => {
  const { type } = await statfs(pathOfDescriptor(file.fd))
  const name = refused.get(type >>> 0)
  if (name)
    throw new FileError(
      'file_access_denied',
      `${path} lies on ${name}, which shows the kernel and not files: look into it by a command.`,
    )
}
