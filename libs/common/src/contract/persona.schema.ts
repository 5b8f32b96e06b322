import { z } from 'zod'

/** Roles that every node may have without a file of the owner's. */
export const builtInKinds = ['general', 'explore', 'plan', 'develop', 'review'] as const
export type BuiltInKind = (typeof builtInKinds)[number]

/** Name of a role: letters, digits, - and _, so that it is the name of a file in one directory and of nothing else. */
export const kindPattern = /^[a-z0-9][a-z0-9_-]{0,63}$/

export const personaLimits = { fileBytes: 64 * 1024, kinds: 200 } as const

/** Tools of the built-in agent, as a persona names them. */
export const choosableTools = [
  'bash',
  'jobs',
  'read',
  'write',
  'edit',
  'list',
  'search',
  'glob',
  'svc',
  'spawn',
  'message',
  'nodes',
  'ask_human',
  'roadmap',
  'promote',
] as const
/** Those that it has whatever a persona says: by them its work ends and rests. */
export const fixedTools = ['report', 'submit_result', 'wait', 'yield'] as const

/** A role of the owner's, as a node keeps it from the moment it was given it. */
export const persona = z
  .object({
    role: z.string().meta({ description: 'What the agent is told of its role' }),
    tools: z
      .array(z.string())
      .optional()
      .meta({ description: 'The only tools it has, besides those by which it reports, yields and waits' }),
  })
  .meta({ id: 'Persona' })
export type Persona = z.infer<typeof persona>
