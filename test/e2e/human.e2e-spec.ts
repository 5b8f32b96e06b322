import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let client: Client
beforeAll(async () => {
  daemon = await TestDaemon.start()
  client = daemon.client()
})
afterAll(() => daemon.stop())

/** A program that asks, writes each line of its mail into a file, and ends with the first answer. */
const asker = () =>
  client.nodes.create({
    prompt: 'ask',
    cwd: daemon.workDir,
    lifecycle: 'terminal',
    engine: 'exec',
    exec: {
      argv: [
        'sh',
        '-c',
        `read prompt
         svc human ask "Which way?" --option a=Left --option b=Right --key way > asked
         while read line; do echo "$line" >> mail; case "$line" in *'"answer"'*) exit 0;; esac; done`,
      ],
    },
  })

const openQuestion = (nodeId: string) =>
  waitFor(
    async () => {
      const { items } = await client.canvas.attention()
      return items.find(({ type, node_id }) => type === 'ticket' && node_id === nodeId)?.request_id
    },
    { what: 'the question' },
  )

describe('a question to a person', () => {
  it('is asked by a program of a node, answered by the command, and ends its work', async () => {
    const { id } = await asker()
    const request = (await openQuestion(id)) as string
    const answered = await svc(daemon, ['human', 'answer', request, '--choose', 'right'])
    expect(answered).toMatchObject({ code: 0 })
    const outcome = await client.nodes.waitForOutcome(id)
    expect(outcome.status).toBe('done')
    const types = (await client.nodes.events(id, { limit: 200 }).recorded()).data.map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('question.'))).toEqual(['question.asked', 'question.resolved'])
    const again = await svc(daemon, ['request', 'post', `/v1/human/requests/${request}/respond`, '{"response":[]}'])
    expect(again.code).toBe(4)
    expect(again.stderr).toContain('already_resolved')
  })

  it('is not answered by a node', async () => {
    const { id } = await client.nodes.create({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: {
        argv: [
          'sh',
          '-c',
          'svc human ask "x" --freetext --json > own.json; svc request post "/v1/human/requests/$(sed -n \'s/.*"id": "\\(req_[a-z0-9]*\\)".*/\\1/p\' own.json)/respond" \'{"response":[{"id":"q1","freetext":"me"}]}\' 2> refused; echo done > end',
        ],
      },
    })
    await waitFor(async () => (await client.files.read({ path: join(daemon.workDir, 'end') })).content, {
      what: 'the program',
    })
    const request = (await openQuestion(id)) as string
    expect((await client.human.requests.retrieve(request)).status).toBe('pending')
    expect((await client.files.read({ path: join(daemon.workDir, 'refused') })).content).toContain('owner_required')
  })
})

describe('an attachment', () => {
  it('reaches a node whole, and is given out as a download only', async () => {
    const { id } = await client.nodes.create({
      prompt: 'listen',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: { argv: ['sh', '-c', 'while read line; do :; done'] },
    })
    const bytes = Buffer.alloc(4 * 1024 * 1024, 'x')
    writeFileSync(join(daemon.workDir, 'large.html'), bytes)
    const sent = await svc(daemon, ['node', 'message', id, 'see', '--attach', 'large.html'])
    expect(sent).toMatchObject({ code: 0 })
    const { data } = await client.nodes.events(id, { limit: 200 }).recorded()
    const carried = data.flatMap((event) => (event.data.attachments as { id: string }[] | undefined) ?? [])[0]
    const path = `/v1/nodes/${id}/attachments/${carried?.id}`
    const response = await fetch(daemon.baseUrl + path, { headers: { authorization: `Bearer ${daemon.token}` } })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="large.html"; filename*=UTF-8''large.html`,
      'x-content-type-options': 'nosniff',
    })
    const printed = await svc(daemon, ['node', 'attachment', id, String(carried?.id)])
    expect(printed.stdout).toHaveLength(bytes.length)
  })

  it('that is too large is refused before it is stored', async () => {
    const { id } = await client.nodes.create({
      prompt: 'listen',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: { argv: ['sh', '-c', 'while read line; do :; done'] },
    })
    const text = 'x'.repeat(3 * 1024 * 1024)
    const attachments = [
      { name: 'a', text },
      { name: 'b', text },
    ]
    await expect(client.nodes.message(id, { body: 'see', attachments })).rejects.toMatchObject({
      code: 'payload_too_large',
      fields: { limit: 4 * 1024 * 1024 },
    })
  })
})

describe('svc sys retention', () => {
  it('shows each class with its size', async () => {
    const { code, stdout } = await svc(daemon, ['sys', 'retention'])
    expect(code).toBe(0)
    for (const name of ['nodes', 'answers', 'questions', 'attachments', 'postgres']) expect(stdout).toContain(name)
  })
})
