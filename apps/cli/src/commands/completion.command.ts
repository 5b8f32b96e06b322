import type { Command } from 'commander'
import { refusal } from '../access/needs.js'
import { askedRights } from '../access/rights.js'
import type { ConnectionFlags } from '../connection.js'
import { UsageError } from '../failure.js'
import type { Shell } from '../shell.js'

/** What may follow a line of commands: subcommands and options. */
interface Level {
  readonly path: string
  readonly words: readonly string[]
}

export const registerCompletion = (program: Command, shell: Shell, whole: () => Promise<Command>): void => {
  program
    .command('completion <shell>')
    .description('Print the completion script of bash or zsh, with the commands that your token can use.')
    .addHelpText('after', '\nExamples:\n  source <(svc completion bash)\n  source <(svc completion zsh)')
    .action(async (name: string) => {
      if (name !== 'bash' && name !== 'zsh') throw new UsageError(`${name} is not known here`, 'bash or zsh')
      const rights = await askedRights(shell, program.opts<ConnectionFlags>())
      const levels = levelsOf(await whole(), (child) => refusal(child, rights) === undefined)
      shell.out.line(
        name === 'bash' ? bashScript(levels) : `autoload -U +X bashcompinit && bashcompinit\n${bashScript(levels)}`,
      )
    })
}

const levelsOf = (command: Command, isShown: (child: Command) => boolean, path = 'svc'): Level[] => {
  const children = command.commands.filter(isShown)
  const options = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))
  const words = [...children.map((child) => child.name()), ...options, '--help']
  return [{ path, words }, ...children.flatMap((child) => levelsOf(child, isShown, `${path} ${child.name()}`))]
}

/** The words before the cursor that are commands name the level; its words are offered. */
const bashScript = (levels: readonly Level[]): string => `_svc() {
  local path=svc word offered
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *)
      case "$path $word" in
${levels
  .slice(1)
  .map(({ path }) => `        "${path}") path="${path}" ;;`)
  .join('\n')}
      esac ;;
    esac
  done
  case "$path" in
${levels.map(({ path, words }) => `    "${path}") offered="${words.join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc svc`
