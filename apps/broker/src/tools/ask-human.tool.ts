import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { flagOf, listOf, optionalTextOf, refuseUnknown, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const questionsAtMost = 20
const optionsAtMost = 50
/** Characters that a page's title takes; what is longer goes into its body. */
const titleLength = 200

const optionFields = { label: { type: 'string' }, description: { type: 'string' } }
const questionFields = {
  question: { type: 'string', description: 'One decision, understood without knowing your work' },
  details: { type: 'string', description: 'What one needs to know to decide, in Markdown' },
  options: {
    type: 'array',
    maxItems: optionsAtMost,
    items: schemaOf(optionFields, ['label']),
    description: 'Answers to choose from, the one that you advise first',
  },
  multi_select: { type: 'boolean', description: 'Whether several options may be chosen' },
  freetext: { type: 'boolean', description: 'Whether an answer in words is taken; true unless given' },
}

/** One page of the deck. @throws ToolError */
const pageOf = (given: unknown, at: number): Record<string, unknown> => {
  const where = `questions[${at}]`
  const input = typeof given === 'string' ? { question: given } : given
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new ToolError(`${where} must be an object with ${Object.keys(questionFields).join(', ')}.`)
  const fields = input as Record<string, unknown>
  refuseUnknown(fields, Object.keys(questionFields), where)
  const question = textOf(fields, 'question').trim()
  if (!question) throw new ToolError(`${where}: "question" is empty.`)
  const details = optionalTextOf(fields, 'details')
  const long = question.length > titleLength
  const body = [long ? question : '', details ?? ''].filter(Boolean).join('\n\n')
  const options = optionsOf(fields, where)
  const freetext = fields.freetext === undefined || fields.freetext === null ? true : flagOf(fields, 'freetext')
  return {
    id: `q${at + 1}`,
    kind: 'decision',
    title: long ? `${question.slice(0, titleLength - 1)}…` : question,
    ...(body && { body }),
    options,
    multiSelect: flagOf(fields, 'multi_select'),
    allowFreetext: freetext || !options.length,
  }
}

const optionsOf = (fields: Record<string, unknown>, where: string): Record<string, unknown>[] => {
  if (fields.options === undefined || fields.options === null) return []
  if (Array.isArray(fields.options) && !fields.options.length) return []
  return listOf(fields, 'options', optionsAtMost).map((given, at) => {
    const input = typeof given === 'string' ? { label: given } : given
    if (typeof input !== 'object' || input === null)
      throw new ToolError(`${where}.options[${at}] must be an object with label and description.`)
    const option = input as Record<string, unknown>
    refuseUnknown(option, Object.keys(optionFields), `${where}.options[${at}]`)
    const description = optionalTextOf(option, 'description')
    return { id: `o${at + 1}`, label: textOf(option, 'label'), ...(description && { description }) }
  })
}

export const askHumanTool = (session: NodeSession): Tool => ({
  name: 'ask_human',
  description:
    'Asks the person you work for. For what only they can decide or know: what was meant, permission, money, taste, access. Nobody sits and waits, so it may take days: put all questions of the moment into one call, go on with what does not depend on them, then `wait`. The answer comes as a message.',
  inputSchema: schemaOf(
    {
      title: { type: 'string', description: 'What it is about, in a few words' },
      questions: {
        type: 'array',
        minItems: 1,
        maxItems: questionsAtMost,
        items: schemaOf(questionFields, ['question']),
      },
      waiting_cost: { type: 'string', description: 'What stands still meanwhile' },
    },
    ['questions'],
  ),
  acts: true,
  repeatable: true,
  async run(input, call) {
    const pages = listOf(input, 'questions', questionsAtMost).map(pageOf)
    const title = optionalTextOf(input, 'title')?.trim() || String(pages[0]?.title)
    const cost = optionalTextOf(input, 'waiting_cost')?.slice(0, 500)
    const body = { title: title.slice(0, titleLength), pages, ...(cost && { waiting_cost: cost }) }
    const options = { idempotencyKey: keyOf(session, call) }
    const { id } = await session.daemon.ask<{ id: string }>('POST', '/v1/human/requests', body, options)
    return {
      output: `Asked (${id}). It is kept until somebody answers, and the answer comes to you as a message. Go on with whatever does not depend on it; when nothing else is left, call \`wait\`.`,
    }
  },
})
