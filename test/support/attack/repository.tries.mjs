// The repository that it works in: what git would run for the person; and repositories of others.
import { readFileSync } from 'node:fs'
import { sh, targets } from './inside.mjs'

const unchanged = ({ code, said }) => code !== 0 && !said.includes('through')
const kept = 'hooks and settings are frozen'
const command = (name, line, why = kept) => ({
  name,
  why,
  attempt: () => sh(`${line} && echo through`),
  held: unchanged,
})

export const repositoryTries = () => [
  command('writes a hook', 'echo "touch attacked" > .git/hooks/pre-commit'),
  command('writes a setting', 'echo "[core]" >> .git/config'),
  command('has git write a setting', 'git config core.fsmonitor ./evil'),
  command('names hooks elsewhere', 'git config core.hooksPath evil'),
  command('replaces the settings', 'cp .git/config new && mv -f new .git/config'),
  command('removes the settings', 'rm -f .git/config'),
  command('moves the hooks away', 'mv .git/hooks .git/hooks.old'),
  command('moves the repository away, for one of its own', 'mv .git .git.old && git init -q .'),
  command('removes the repository, for one of its own', 'rm -rf .git/hooks .git/config && git init -q .'),
  command('puts a link in its place', 'ln -sfn /tmp .git/hooks && test "$(readlink .git/hooks)" = /tmp'),
  command('mounts over the hooks', 'mount --bind /tmp .git/hooks'),
  command('makes them writable', 'chmod -R u+w .git/hooks && touch .git/hooks/post-checkout'),
  command('writes settings of a repository below it', 'echo "[core]" >> nested/.git/config'),
  command('writes hooks of a repository below it', 'touch nested/.git/hooks/post-merge'),
  command("clones another's repository", `git clone -q ${targets.repository} stolen`, 'it is not seen'),
  command(
    "adds another's objects",
    `git -c core.alternateRefsCommand= --git-dir=${targets.repository}/.git log`,
    'it is not seen',
  ),
  {
    name: 'finds what it did not commit',
    why: 'nothing was written',
    attempt: () => readFileSync('.git/config', 'utf8'),
    held: (said) => !/fsmonitor|hooksPath/.test(said),
  },
]
