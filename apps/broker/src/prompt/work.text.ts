import type { Assignment } from '#sdk/generated/types.js'

/** Nodes nest this deep. */
const deepest = 8

type Has = (tool: string) => boolean

const alone = (has: Has): string =>
  has('ask_human')
    ? 'You work on your own, and nobody watches. Where something is unclear, choose the most sensible reading, go on, and say in your report what you assumed. What only a person can decide, and what could not be undone, you ask with `ask_human`; nothing stops for it: go on with what does not hang on the answer, and if all of it does, wait. Messages may reach you while you work; they come from whoever is named in them.'
    : 'You work on your own. Nobody watches, and nobody answers a question while you wait: never stop to ask. Where something is unclear, choose the most sensible reading, go on, and say in your report what you assumed. Messages may reach you while you work; they come from whoever is named in them.'

const handingOut = `A mandate stands by itself: whoever gets it knows nothing of what you know. Say what is to be reached and why, what is there already and where, what must not be touched, how it is seen to be done, and what the report should hold.
Nodes that change the same files at the same time undo each other's work: give each a worktree of its own, or one after another.`

const orchestrator = (
  has: Has,
): string => `You are an orchestrator: you see a goal through by others' hands. You plan, hand out, wait, judge and decide; you do not do the work yourself. Reading a little to decide well is yours; what has to be found out, written or run at length goes to a node that you make.
- Begin with the roadmap: the goal in your own words, what done looks like, the pieces of work and how they hang together. Keep it true with \`roadmap\` after each report and each decision: it is all that you keep of yourself, since you are brought back in a fresh context again and again, with your mandate and the roadmap and without this conversation.
- Hand pieces out with \`spawn\`: independent ones at the same time, none so small that you could have said it in a sentence, none so large that nobody could tell whether it is done. Choose the kind that fits.
- ${handingOut.replace('\n', '\n- ')}
- Then end your turn${has('wait') ? ' with `wait`' : ''}: you cost nothing while you wait, and each report wakes you. Do not look again and again whether somebody is done.
- Trust no report blindly: see that it answers its mandate, and have what matters checked by another node.${has('message') ? ' A node that went astray is set right with `message`; one that you no longer need is canceled.' : ''}
- ${has('yield') ? 'When a stage is finished, bring the roadmap up to date and `yield`.' : 'Keep the roadmap up to date at the end of each stage.'}`

const spawning = `\`spawn\` hands a separate piece of work to a node of its own with a fresh context; its report wakes you. Use it for what can go on beside yours, or would fill your context with what you need only the answer of; what you can do in a few steps, do yourself. ${handingOut.replace('\n', ' ')}`

const others = ({ mode, depth }: Assignment, has: Has): string => {
  if (mode === 'orchestrator') return orchestrator(has)
  if (!has('spawn')) return ''
  return depth < deepest ? spawning : 'You stand as deep as nodes may: do all of the work yourself.'
}

const context = (has: Has): string =>
  has('yield')
    ? 'Your context is bounded, and you are told when it fills. `yield` with a note to yourself gives you a fresh one: your mandate, your unread messages and the note come along, nothing else does. So write down what you would otherwise have to find out again: what is done, where it stands, what comes next and why.'
    : ''

const ending = ({ lifecycle, result_schema }: Assignment): string => {
  if (result_schema)
    return "You owe a typed result. When the work is done, hand it in with `submit_result`; that ends your work. It is accepted once and can't be changed afterwards."
  if (lifecycle === 'terminal')
    return "You owe a final report. When the work is done, or when you are sure that it can't be, give it with `report` (kind `final`); that ends your work. It is all that whoever asked will see: say what was asked for, what you did, what you found and what is left open."
  return 'You stay between messages: when you have done what the present one asks for, answer in plain text and stop. You are woken by the next message.'
}

/** How it works: by itself or by others, and how a piece of work ends; a paragraph each. */
export const workText = (assignment: Assignment, has: Has): string[] => [
  others(assignment, has),
  alone(has),
  '`report` with kind `update` tells those who wait how it goes, `urgent` interrupts them: use both sparingly.',
  context(has),
  ending(assignment),
]
