import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { operation } from './define.js'
import { routes } from './index.js'

const posts = routes.filter(({ method }) => method === 'POST')
const post = {
  name: 'things.create',
  kind: 'untyped',
  summary: 'Make a thing',
  service: 'lifecycle',
  method: 'POST',
  path: '/v1/things',
  listeners: ['owner'],
  gate: 'owner',
} as const

describe('a POST that is sent again', () => {
  it('takes an idempotency key, or says why it changes nothing more', () => {
    const silent = posts.filter(({ idempotency, repeats }) => idempotency !== 'key' && !repeats)
    expect(silent.map(({ name }) => name)).toEqual([])
    expect(posts.length).toBeGreaterThan(40)
  })

  it('is refused by the contract while it says neither', () => {
    expect(() => operation(post)).toThrow('takes an idempotency key, or is natural')
    expect(() => operation({ ...post, idempotency: 'natural' })).toThrow('says why')
    expect(operation({ ...post, idempotency: 'key', response: z.object({}) }).name).toBe('things.create')
  })

  it('is named by hand where it is natural, so that a new one is thought about', () => {
    expect(
      posts
        .filter(({ idempotency }) => idempotency === 'natural')
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      'canvas.attentionCounts',
      'canvas.history.grep',
      'canvas.history.search',
      'canvas.history.stats',
      'canvas.prune',
      'crons.poke',
      'crons.preview',
      'customObjects.ack',
      'customObjects.deliveries.replay',
      'customObjects.pause',
      'customObjects.resume',
      'files.write',
      'nodes.attach',
      'nodes.broker.bind',
      'nodes.broker.deltas',
      'nodes.broker.journal',
      'nodes.broker.modelCall',
      'nodes.broker.modelCallCancel',
      'nodes.broker.settle',
      'nodes.mail.acknowledge',
      'nodes.mail.claim',
      'sandbox.consent',
    ])
  })
})
