import type { GrepMatch, SearchHit } from '#sdk/index.js'
import { ago } from '../clock.js'
import type { Output } from '../output/output.js'

/** `name (node_…) turn 3, assistant, 2h ago`. */
const placeOf = (found: Pick<SearchHit, 'node_name' | 'node_id' | 'turn' | 'kind' | 'label' | 'at'>): string =>
  [
    `${found.node_name} (${found.node_id})${found.turn === null ? '' : ` turn ${found.turn}`}`,
    found.label === null ? found.kind : `${found.kind} ${found.label}`,
    `${ago(found.at)} ago`,
  ].join(', ')

export const hitText = (hit: SearchHit, out: Output): string => {
  let [text, at] = ['', 0]
  for (const [from, to] of hit.highlights as [number, number][]) {
    text += hit.snippet.slice(at, from) + out.paint('bold', hit.snippet.slice(from, to))
    at = to
  }
  return `${out.paint('cyan', placeOf(hit))}\n  ${text}${hit.snippet.slice(at)}\n`
}

/** As grep prints: what it is of once, then its lines with their numbers. */
export class MatchView {
  readonly #out: Output
  #place = ''

  constructor(out: Output) {
    this.#out = out
  }

  show(match: GrepMatch): void {
    const place = `${match.node_id} ${match.ref} ${match.kind}`
    if (place !== this.#place) this.#out.line(this.#out.paint('cyan', placeOf(match)))
    this.#place = place
    const { before, after, line, text } = match
    for (const [at, each] of before.entries()) this.#line(line - before.length + at, '-', each)
    this.#line(line, ':', text)
    for (const [at, each] of after.entries()) this.#line(line + 1 + at, '-', each)
  }

  #line(number: number, mark: string, text: string): void {
    this.#out.line(`  ${this.#out.paint('dim', `${number}${mark}`)} ${text}`)
  }
}
