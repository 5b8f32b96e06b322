import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const configured = async (name: string): Promise<string | undefined> => {
  try {
    const { stdout } = await run('git', ['config', '--global', '--get', name], { cwd: '/', timeout: 5000 })
    return stdout.trim() || undefined
  } catch {
    // Not set, or no git: the commits of nodes say so by their author.
    return undefined
  }
}

const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', ' ')}"`

/**
 * The `~/.gitconfig` of nodes: they commit as the person, unless a repository names somebody else. Nothing else of the
 * person's settings is taken over, since those name programs and credentials.
 */
export const readGitConfig = async (): Promise<string> => {
  const [name, email] = await Promise.all([configured('user.name'), configured('user.email')])
  return [
    '[user]',
    `\tname = ${quoted(name ?? 'svc')}`,
    `\temail = ${quoted(email ?? 'svc@localhost')}`,
    '[safe]',
    // Inside, files of other accounts seem to be nobody's; what may be written is decided by the sandbox.
    '\tdirectory = *',
    '',
  ].join('\n')
}
