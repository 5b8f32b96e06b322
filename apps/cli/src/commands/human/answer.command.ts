import type { Command } from 'commander'
import type { HumanRequest, HumanRespondBody } from '#sdk/index.js'
import { CommandError, UsageError } from '../../failure.js'
import { answerOf, type Item, isDecided, responseOf } from '../../human/answer.input.js'
import { pageText, requestText } from '../../human/request.view.js'
import { jsonOf, shownLine } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Output } from '../../output/output.js'
import type { Shell } from '../../shell.js'

interface AnswerOptions {
  readonly choose?: readonly string[]
  readonly say?: readonly string[]
  readonly response?: string
}

const several = (text: string, before: readonly string[] = []): string[] => [...before, text]

export const registerAnswer = (human: Command, shell: Shell): void => {
  const made = command(human, 'answer <id>', {
    calls: ['human.requests.respond', 'human.requests.retrieve'],
    summary: 'Answer a question, once and for good; on a terminal it asks page by page',
    examples: [
      ['svc human answer <id>', 'page by page'],
      ['svc human answer <id> --choose pg', 'where there is one page to decide'],
      ['svc human answer <id> --choose db=pg --say name=orders', 'several pages'],
    ],
  })
    .option('--choose <[page=]option>', 'an option, with commas between where several may be chosen', several)
    .option('--say <[page=]text>', 'an answer in words', several)
    .option('--response <json>', 'the response as JSON: itself, @file, or - for standard input')
  performs<AnswerOptions>(made, shell, async ({ client, out, json, options }, id = '') => {
    const svc = await client()
    const request = await svc.human.requests.retrieve(id)
    if (request.status !== 'pending') throw new CommandError(`it was ${request.status} already`, `svc human show ${id}`)
    const response = await given(request, options, out)
    // what was read is what is answered
    const answered = await svc.human.requests.respond(id, { response, if_match: request.version })
    if (json) out.json(answered)
    else out.line(requestText(answered, out))
  })
}

const given = async (
  request: HumanRequest,
  { response, choose, say }: AnswerOptions,
  out: Output,
): Promise<HumanRespondBody['response']> => {
  if (response !== undefined) return (await jsonOf(response, '--response')) as HumanRespondBody['response']
  if (choose || say) return responseOf(request.pages, { ...(choose && { choose }), ...(say && { say }) })
  if (!process.stdin.isTTY) {
    throw new UsageError('nobody can be asked here', 'say it by --choose, --say or --response')
  }
  return asked(request, out)
}

/** Page by page, each until something was said that it takes. */
const asked = async (request: HumanRequest, out: Output): Promise<Item[]> => {
  out.note(out.paintNote('bold', request.title))
  const items: Item[] = []
  for (const page of request.pages) {
    out.note(`\n${pageText(page, out)}`)
    if (page.kind === 'context') continue
    for (let said = false; !said; ) {
      const answer = answerOf(page, await shownLine(isDecided(page) ? '> ' : 'Enter acknowledges it '))
      if (answer && 'problem' in answer) {
        out.note(answer.problem)
        continue
      }
      if (answer) items.push(answer)
      said = true
    }
  }
  return items
}
