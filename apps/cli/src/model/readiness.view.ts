import type { ModelReadiness } from '#sdk/index.js'
import type { Output } from '../output/output.js'
import { table } from '../output/table.js'

export const printReadiness = (readiness: ModelReadiness, out: Output): void => {
  if (readiness.providers.length) {
    const rows = readiness.providers.map((one) => [
      one.provider,
      one.type,
      one.usable ? 'usable' : one.configured ? 'not usable' : 'no key',
      one.reason ?? '',
    ])
    out.line(table(['PROVIDER', 'TYPE', 'STATE', 'DETAIL'], rows))
    out.line()
  }
  out.line(
    table(
      ['STRENGTH', 'MODEL', 'DETAIL'],
      readiness.strengths.map(({ strength, model, reason }) => [strength, model ?? '-', reason ?? '']),
    ),
  )
  if (readiness.remedy) out.note(`${out.paintNote('bold', 'what to do:')} ${readiness.remedy}`)
}
