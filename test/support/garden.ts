import type { MockAnswer, MockConversation, MockModel } from '#common/testing/mock-model.js'

/** The agents of one story, by what each was given to do; what they answer depends on nothing but their conversations. */
export const mandate = 'Build the garden: beds, a pond and a path.'
export const firstRoadmap = '# Garden\n1. beds\n2. pond\n3. path\n'
export const nextRoadmap = '# Garden\nBeds, pond and path stand.\nNext: say what grows where.\n'
export const successor = 'Say how the garden stands, and end.'
export const newWork = 'Now a hedge and a gate.'

const call = (name: string, input: Record<string, unknown>): MockAnswer => ({ toolCalls: [{ name, input }] })
const final = (body: string): MockAnswer => call('report', { kind: 'final', body })
const wait = (reason: string): MockAnswer => call('wait', { reason })
const commit = (file: string): MockAnswer =>
  call('bash', { command: `echo ${file} > ${file}.txt && git add . && git commit -qm "the ${file}" && echo committed` })

/** Whether somebody has told it so. */
const heard = ({ user }: MockConversation, text: string): boolean => user.some((said) => said.includes(text))

const root = (talk: MockConversation): MockAnswer => {
  if (heard(talk, 'This is context 2')) return restored(talk)
  switch (talk.said) {
    case 0:
      return {
        text: 'Three pieces, each in a worktree of its own.',
        toolCalls: [
          { name: 'spawn', input: { name: 'beds', prompt: 'Dig the beds.', worktree: {} } },
          { name: 'spawn', input: { name: 'pond', prompt: 'Fill the pond.', worktree: {}, lifecycle: 'resident' } },
          { name: 'spawn', input: { name: 'path', prompt: 'Lay the path.', worktree: {} } },
        ],
      }
    case 1:
      return call('promote', { roadmap: firstRoadmap, resident: true })
  }
  const built = ['the beds are dug', 'the pond is full', 'the path is of gravel'].every((text) => heard(talk, text))
  if (!built) return wait('three pieces')
  const written = talk.tool.some((text) => text.startsWith('Written: version 2'))
  return written
    ? call('yield', { note: 'All three have reported; the owner will ask what grows where.' })
    : call('roadmap', { action: 'write', text: nextRoadmap, if_match: 1 })
}

/** In its second context: it knows what it finds there, and what it was told since. */
const restored = (talk: MockConversation): MockAnswer => {
  const newest = talk.user.at(-1) ?? ''
  if (newest.includes('Where do the roses go?')) return { text: 'The roses go into the beds.' }
  if (newest.includes('And the frogs?')) return { text: 'The frogs go into the pond.' }
  if (newest.includes('What do you know?')) {
    return {
      text: `I know of ${['roses', 'frogs'].filter((one) => heard(talk, `${one}?`) || heard(talk, `${one} go`))}.`,
    }
  }
  const kept = ['Build the garden', 'Beds, pond and path stand.', 'what grows where'].every((text) => heard(talk, text))
  return { text: kept ? 'Fresh, and I know my goal, my roadmap and my note.' : 'Fresh, and I know nothing.' }
}

const pond = (talk: MockConversation): MockAnswer => {
  if (talk.said === 0) return commit('pond')
  return talk.said === 1
    ? call('report', { kind: 'update', body: 'the pond is full' })
    : { text: 'I stay by the pond.' }
}

const path = (talk: MockConversation): MockAnswer => {
  const options = [{ label: 'gravel' }, { label: 'stone' }]
  if (talk.said === 0) return call('ask_human', { questions: [{ question: 'Gravel or stone?', options }] })
  if (!heard(talk, 'gravel')) return wait('an answer')
  return talk.tool.some((text) => text.includes('committed')) ? final('the path is of gravel') : commit('path')
}

/** Who took the place of the first root. */
const heir = (talk: MockConversation): MockAnswer => {
  if (!heard(talk, newWork)) return final('The garden stands: beds, pond, path.')
  const started = talk.tool.filter((text) => /Started (hedge|gate)/.test(text)).length
  if (started) return wait('the hedge and the gate')
  return {
    toolCalls: ['hedge', 'gate'].map((name) => ({ name: 'spawn', input: { name, prompt: `Make the ${name}.` } })),
  }
}

const atWork = ({ said }: MockConversation): MockAnswer =>
  said === 0 ? call('bash', { command: 'until [ -e go ]; do sleep 0.1; done', timeout: 600 }) : final('made')

const beginnings: readonly (readonly [begins: string, answer: (talk: MockConversation) => MockAnswer])[] = [
  ['You take the place of', heir],
  ['Dig the beds.', ({ said }) => (said === 0 ? commit('beds') : final('the beds are dug'))],
  ['Fill the pond.', pond],
  ['Lay the path.', path],
  ['Make the ', atWork],
  ['Mind the gate.', () => ({ text: 'I mind it.' })],
  [mandate, root],
]

export const tellGarden = (mock: MockModel): MockModel =>
  mock.deciding((talk) => beginnings.find(([begins]) => talk.user[0]?.includes(begins))?.[1](talk))
