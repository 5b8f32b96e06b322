import { resolve } from 'node:path'
import type { NodeCreate } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { assignment, fileJson, oneOf, textOf } from '../../input.js'

export interface NewOptions {
  readonly engine?: string
  readonly cwd?: string
  readonly worktree?: boolean
  readonly branch?: string
  readonly base?: string
  readonly name?: string
  readonly kind?: string
  readonly mode?: string
  readonly parent?: string
  readonly root?: boolean
  readonly lifecycle?: string
  readonly strength?: string
  readonly model?: string
  readonly scopes?: string
  readonly resultSchema?: string
  readonly stdin?: string
  readonly env?: readonly string[]
  readonly wait?: boolean
  readonly watch?: boolean
}

const modes = ['base', 'orchestrator'] as const
const lifecycles = ['terminal', 'resident'] as const
const strengths = ['light', 'medium', 'strong', 'ultra'] as const
const stdinForms = ['jsonl', 'text'] as const

/**
 * What the command line asks to be created.
 *
 * @param trailing the program after `--`
 * @throws UsageError
 */
export const nodeBody = async (
  prompt: string | undefined,
  options: NewOptions,
  trailing: readonly string[],
  here: string,
): Promise<NodeCreate> => {
  const engine = options.engine ?? (trailing.length ? 'exec' : undefined)
  const runsProgram = engine === 'exec'
  if (runsProgram && !trailing.length) {
    throw new UsageError(
      'the engine exec needs a program',
      'put it after --, like `svc node new --engine exec -- ls -la`',
    )
  }
  if (!runsProgram && trailing.length) throw new UsageError(`a program after -- is for the engine exec, not ${engine}`)
  const text = runsProgram && prompt === undefined ? `Run ${trailing.join(' ')}` : await textOf(prompt, 'the prompt')
  const ends = runsProgram || options.wait === true || options.watch === true
  const lifecycle = oneOf(lifecycles, options.lifecycle, '--lifecycle') ?? (ends ? 'terminal' : undefined)
  const mode = oneOf(modes, options.mode, '--mode')
  const strength = oneOf(strengths, options.strength, '--strength')
  return {
    prompt: text,
    cwd: resolve(here, options.cwd ?? '.'),
    ...(engine && { engine }),
    ...(lifecycle && { lifecycle }),
    ...worktreeOf(options),
    ...(options.name && { name: options.name }),
    ...(options.kind && { kind: options.kind }),
    ...(mode && { mode }),
    ...(options.parent && { parent_id: options.parent }),
    ...(options.root && { root: true }),
    ...((strength || options.model) && {
      model: { ...(strength && { strength }), ...(options.model && { override: options.model }) },
    }),
    ...(options.scopes !== undefined && {
      scopes: options.scopes
        .split(',')
        .map((scope) => scope.trim())
        .filter(Boolean),
    }),
    ...(options.resultSchema && { result_schema: schemaOf(options.resultSchema) }),
    ...(runsProgram && { exec: programOf(trailing, options) }),
  }
}

/** A branch or a base is one of a worktree. */
const worktreeOf = ({ worktree, branch, base }: NewOptions): Pick<NodeCreate, 'worktree'> =>
  worktree || branch || base ? { worktree: { ...(branch && { branch }), ...(base && { base }) } } : {}

const programOf = (argv: readonly string[], { stdin, env }: NewOptions): NonNullable<NodeCreate['exec']> => {
  const form = oneOf(stdinForms, stdin, '--stdin')
  return {
    argv: [...argv],
    ...(form && { stdin: form }),
    ...(env && { env: Object.fromEntries(env.map(assignment)) }),
  }
}

const schemaOf = (path: string): Record<string, unknown> => fileJson(path, path) as Record<string, unknown>
