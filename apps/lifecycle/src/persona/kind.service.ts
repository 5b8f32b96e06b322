import { Inject, Injectable } from '@nestjs/common'
import { type BuiltInKind, builtInKinds, type Kind, type Persona, type Strength } from '#common/contract/index.js'
import { SvcError } from '#common/kernel/errors.js'
import { PersonaDirectory } from './persona.directory.js'
import { PersonaFault, type PersonaFile } from './persona.file.js'

export const PERSONAS = Symbol('personas')

/** What a kind gives to a node whose maker says nothing of it. */
export interface KindDefaults {
  /** Null: that of the parent, else medium. */
  readonly strength: Strength | null
  readonly mode: 'base' | 'orchestrator' | null
  readonly lifecycle: 'terminal' | 'resident' | null
  readonly persona: Persona | null
}

/**
 * Looking for things is cheap work, often done by many at once; a plan and a review are worth a stronger model, since
 * all that follows rests on them.
 */
const builtIn: Record<BuiltInKind, { description: string; strength: Strength | null }> = {
  general: { description: 'Any piece of work, from beginning to end', strength: null },
  explore: { description: 'Finds things out, changes nothing', strength: 'light' },
  plan: { description: 'Works out how something should be done, changes nothing', strength: 'strong' },
  develop: { description: 'Writes and changes software, and proves that it works', strength: 'medium' },
  review: { description: 'Looks for faults in a piece of work, changes nothing', strength: 'strong' },
}

const isBuiltIn = (kind: string): kind is BuiltInKind => (builtInKinds as readonly string[]).includes(kind)

const none = { mode: null, lifecycle: null } as const

/** The roles that a node may have. A persona of the owner's counts before a built-in role of the same name. */
@Injectable()
export class KindService {
  constructor(@Inject(PERSONAS) private readonly personas: PersonaDirectory) {}

  /**
   * @throws SvcError validation_failed at `/kind` for one that there is not, with all that there are, and for a persona
   * that can't be used, with what is wrong with its file.
   */
  async require(kind: string): Promise<KindDefaults> {
    try {
      const found = await this.personas.find(kind)
      if (found) return { ...found, persona: personaOf(found) }
    } catch (error) {
      if (error instanceof PersonaFault)
        refuse(`the persona ${this.personas.path}/${kind}.md can't be used: ${error.message}`)
      throw error
    }
    if (isBuiltIn(kind)) return { ...none, strength: builtIn[kind].strength, persona: null }
    return refuse(`there is no kind "${kind}"; there are: ${(await this.names()).join(', ')}`)
  }

  async list(): Promise<{ data: Kind[] }> {
    return { data: await Promise.all((await this.names()).map((kind) => this.show(kind))) }
  }

  private async names(): Promise<string[]> {
    return [...new Set<string>([...builtInKinds, ...(await this.personas.kinds())])]
  }

  private async show(kind: string): Promise<Kind> {
    try {
      const found = await this.personas.find(kind)
      if (found) {
        const { description, strength, mode, lifecycle, tools } = found
        return { kind, source: 'persona', description, strength, mode, lifecycle, tools: tools ?? null, fault: null }
      }
    } catch (error) {
      if (!(error instanceof PersonaFault)) throw error
      const fault = `${this.personas.path}/${kind}.md: ${error.message}`
      return { ...none, kind, source: 'persona', description: '', strength: null, tools: null, fault }
    }
    const known = isBuiltIn(kind) ? builtIn[kind] : { description: '', strength: null }
    return { ...none, kind, source: 'built_in', ...known, tools: null, fault: null }
  }
}

const personaOf = ({ role, tools }: PersonaFile): Persona => ({ role, ...(tools && { tools }) })

const refuse = (message: string): never => {
  throw new SvcError('validation_failed', `The kind can't be used: ${message}.`, {
    errors: [{ pointer: '/kind', message }],
  })
}
