import type { Command } from 'commander'
import type { SearchBody } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { hitText } from '../../canvas/snippet.view.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface SearchOptions {
  readonly under?: string
  readonly kind?: string
  readonly limit?: number
  readonly after?: string
}

export const registerSearch = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'search <query...>', {
    calls: ['canvas.history.search'],
    summary: 'Search what was said, read and reported, best first',
    about: 'Every word must occur, in any of its forms; "a phrase", or, and -without are understood.',
    examples: [
      ['svc canvas search connection refused', 'both words'],
      ['svc canvas search \'"connection refused" -test\'', 'the phrase, without the other word'],
      ['svc canvas search deploy --kind report', 'in reports alone'],
    ],
  })
    .option('--under <id>', 'at or below this node')
    .option('--kind <list>', 'user, assistant, reasoning, tool, report, mail: those of them')
    .option('--limit <number>', 'hits, 1 to 100', wholeNumber)
    .option('--after <cursor>', 'the page after this cursor')
  performs<SearchOptions>(made, shell, async ({ client, out, json, options }, words) => {
    const { kind } = options
    const rest = given(options, 'under', 'limit', 'after')
    const query = [words ?? []].flat().join(' ')
    const body = { query, ...rest, ...(kind !== undefined && { kinds: listOf(kind) }) } as SearchBody
    const found = await (await client()).canvas.history.search(body)
    if (json) return out.json(found)
    for (const hit of found.hits) out.line(hitText(hit, out))
    if (found.hits.length === 0) out.note('nothing was found')
    if (found.next_cursor) out.note(`there are more: --after ${found.next_cursor}`)
    if (!found.complete) out.note('these are of the newest five hundred that fit: more words find older ones')
  })
}

/** Names with commas between them. */
export const listOf = (text: string): string[] => text.split(',').map((one) => one.trim())
