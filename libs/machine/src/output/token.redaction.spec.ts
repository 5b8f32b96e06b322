import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { TokenFilter, withoutToken } from './token.redaction.js'

const token = 'svc_node_01jabcg3_s3cr3t'

const filtered = (...pieces: string[]): string => {
  const filter = new TokenFilter(token)
  return Buffer.concat([...pieces.map((piece) => filter.push(Buffer.from(piece))), filter.rest()]).toString()
}

describe("the node's token in output", () => {
  it('is not shown, however often it stands there', () => {
    const said = filtered(`SVC_TOKEN=${token}\nagain ${token}${token}`)
    expect(said).toBe("SVC_TOKEN=[the node's token]\nagain [the node's token][the node's token]")
    expect(withoutToken(`a ${token}.`, token)).toBe("a [the node's token].")
  })

  it('is found wherever the pieces were cut, and all else comes as it is', () => {
    const part = fc.constantFrom('plain ', token, 'svc_node_', 's', token.slice(0, -1), '\u00fc', 'svsvc_')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(40), { maxLength: 8 }), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''))
        const filter = new TokenFilter(token)
        const shown: Buffer[] = []
        let from = 0
        for (const length of cuts) {
          shown.push(filter.push(bytes.subarray(from, from + length)))
          from += length
        }
        shown.push(filter.push(bytes.subarray(from)), filter.rest())
        expect(Buffer.concat(shown).toString()).toBe(withoutToken(bytes.toString(), token))
      }),
    )
  })

  it('holds nothing back that is not its beginning', () => {
    const filter = new TokenFilter(token)
    expect(filter.push(Buffer.from('ready\n')).toString()).toBe('ready\n')
    expect(filter.push(Buffer.from('password: ')).toString()).toBe('password: ')
  })
})
