import type { Node, NodeCreate } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { type LifecycleUnderTest, started } from '../../../../test/support/lifecycle-service.js'

type Mail = readonly { readonly kind: string; readonly body: string }[]

/** Nodes with a conversation, roots unless a parent is given. */
export const agents = (lifecycle: () => LifecycleUnderTest) => {
  const create = (more: Partial<NodeCreate> = {}, ctx?: Context): Promise<Node> =>
    lifecycle().call('nodes.create', { prompt: 'do it', ...(!more.parent_id && { cwd: '/tmp' }), ...more }, ctx)

  /** Bound, its first mail claimed and no turn begun. */
  const agent = async (more: Partial<NodeCreate> = {}, ctx?: Context) => {
    const node = await create(more, ctx)
    return { node, ...(await lifecycle().bound(node.id)) }
  }

  /** In its first turn, which has taken its prompt in. */
  const atWork = async (more: Partial<NodeCreate> = {}) => {
    const made = await agent(more)
    await made.broker.append(started(1, made.assignment.mail))
    return made
  }

  /** At rest after its first turn. */
  const resting = async (more: Partial<NodeCreate> = {}) => {
    const made = await atWork(more)
    await made.broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    return made
  }

  return {
    create,
    agent,
    atWork,
    resting,
    bodies: (mail: Mail): string[] => mail.map(({ body }) => body),
    kinds: (mail: Mail): string[] => mail.map(({ kind }) => kind),
  }
}
