import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { ContentPart } from '#common/contract/index.js'
import { text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, outputsOf, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()
/** A PNG of one pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Runs one call after another, and ends. */
const calling = (calls: readonly (readonly [name: string, input: unknown])[], given: object = {}) =>
  work(
    stage,
    stage.routes.node({ cwd: stage.cwd, ...given }, ({ step }) => {
      const call = calls[step - 1]
      return call ? [toolCall(`c${step}`, ...call)] : [text('done')]
    }),
  )

describe('an image that the model reads', () => {
  it('is recorded with the call, and is in what the model is asked next', async () => {
    writeFileSync(join(stage.cwd, 'a.png'), Buffer.from(png, 'base64'))
    const node = calling([['read', { path: 'a.png' }]])
    await ended(node)
    const images = [{ content_type: 'image/png', base64: png }]
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'completed', images }])
    const asked = node.calls[1]?.messages.flatMap(({ content }): ContentPart[] => content)
    expect(asked?.find((part) => part.type === 'tool_result')).toMatchObject({
      output: expect.stringContaining('a.png: image/png, 1 × 1 pixels'),
      images,
    })
    expect(JSON.stringify(node.deltas)).not.toContain(png)
  })

  it('can be one that a command made where only its programs see it', async () => {
    const node = calling([
      ['bash', { command: `echo ${png} | base64 -d > /tmp/shot.png; echo ~` }],
      ['read', { path: '/tmp/shot.png' }],
    ])
    await ended(node)
    expect(node.entries('tool_ended')[1]).toMatchObject({ images: [{ base64: png }] })
  })
})

describe('output that is too long to be shown', () => {
  it('is in a file that read opens and search looks through, at the place that is named', async () => {
    const log = join(stage.cwd, '.scratch', '1-c1.log')
    const node = calling([
      ['bash', { command: 'seq 100000' }],
      ['read', { path: log, offset: 50_000, limit: 1 }],
      ['search', { path: log, pattern: '^7777$' }],
    ])
    await ended(node)
    const [long, part, found] = outputsOf(node)
    expect(long).toContain(`the whole output is in ${log}: read it with offset and limit`)
    expect(part).toBe(' 50000\t50000\n[… lines 50001–100000 follow: go on with offset: 50001 …]')
    expect(found).toContain(':7777:7777')
  })
})

describe('what tools do together', () => {
  it('finds, reads, edits and writes as the shell sees it', async () => {
    const node = calling([
      ['bash', { command: 'mkdir src && printf "one\\ntwo\\n" > src/a.ts && printf "x" > src/b.ts' }],
      ['search', { pattern: 'two', type: 'ts' }],
      ['glob', { pattern: 'src/a.*' }],
      ['edit', { path: 'src/a.ts', edits: [{ old_text: 'two', new_text: '2' }] }],
      ['write', { path: 'src/b.ts', content: 'y' }],
      ['list', {}],
      ['bash', { command: 'cat src/a.ts src/b.ts' }],
    ])
    await ended(node)
    const [, found, named, edited, refused, listed, shown] = outputsOf(node)
    expect(found).toBe('src/a.ts:2:two')
    expect(named).toBe('src/a.ts')
    expect(edited).toBe('Changed src/a.ts (+1 −1 lines):\n     1   one\n     2 - two\n     2 + 2')
    expect(refused).toContain('src/b.ts exists, and you have not read it')
    expect(listed).toContain('src/\n  a.ts  6\n  b.ts  1')
    expect(shown).toBe('one\n2\nx')
  })
})

describe('svc as a tool', () => {
  it('runs the command as the node, with its arguments and nothing else', async () => {
    const node = calling([
      ['svc', { args: ['push', 'half of $HOME is done; true'] }],
      ['svc', { args: ['--help'] }],
      ['svc', { args: ['no-such-command'] }],
    ])
    await ended(node)
    expect(node.reports[0]).toMatchObject({ kind: 'update', body: 'half of $HOME is done; true' })
    const [, help, wrong] = outputsOf(node)
    expect(help).toContain('svc push')
    expect(wrong).toContain('[exit code 2]')
  })

  it('is there without svc:act too, and then reads no file', async () => {
    const secret = join(stage.cwd, 'secret.json')
    writeFileSync(secret, '{"a": "the secret"}')
    const node = calling(
      [
        ['svc', { args: ['push', 'thinking'] }],
        ['svc', { args: ['request', 'POST', '/v1/nodes', `@${secret}`] }],
        ['svc', { args: ['push', '-'] }],
        ['svc', { args: ['--help'] }],
        ['svc', { args: ['human', 'list'] }],
        ['svc', { args: ['sys', 'connect'] }],
      ],
      { scopes: ['svc:llm'] },
    )
    await ended(node)
    expect(node.reports[0]).toMatchObject({ body: 'thinking' })
    const [, read, , help, hidden, owners] = outputsOf(node)
    expect(read).toContain('no files are read here')
    expect(help).toContain('  node ')
    expect(help).not.toContain('  human ')
    expect(hidden).toContain('needs the scope svc:act (scope_missing)')
    expect(owners).toContain('is for the owner of the daemon (owner_required)')
    expect(JSON.stringify(node.journal)).not.toContain('the secret')
    expect(readFileSync(secret, 'utf8')).toContain('the secret')
  })
})
