import { join } from 'node:path'

/** In a home that is mounted as a whole: what opens doors elsewhere. A mount of its own opens one of them. */
const secret = [
  '.ssh .gnupg .aws .azure .kube .docker .password-store .netrc .pgpass .my.cnf .git-credentials .npmrc .pypirc',
  '.vault-token .terraform.d .mozilla .thunderbird .bash_history .zsh_history .psql_history .node_repl_history',
  '.config/gcloud .config/gh .config/hub .config/git/credentials .config/op .config/google-chrome .config/chromium',
  '.config/rclone .config/sops .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml',
  '.gradle/gradle.properties .local/share/keyrings .local/share/kwalletd',
]

/** What runs by itself when the person logs in or opens a shell. */
const started = [
  '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .xprofile',
  '.xsessionrc .inputrc .gitconfig .vimrc .tmux.conf .config/git .config/autostart .config/systemd .config/fish',
  '.config/environment.d .local/share/systemd',
]

const inside = (home: string, names: readonly string[]): string[] =>
  names.flatMap((line) => line.split(' ')).map((name) => join(home, name))

export const credentialsOf = (home: string): string[] => inside(home, secret)

export const startedAtLoginOf = (home: string): string[] => inside(home, started)

/** Sockets of the person's session, in directories that a working directory may show. */
export const socketsOf = ['/run', '/var/run', '/tmp/.X11-unix', '/tmp/.ICE-unix'] as const
