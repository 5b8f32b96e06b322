// By what nodes do for each other: watching, asking, copying, bringing back. All of it for what lies outside of its subtree.
import { call, own, targets, token } from './inside.mjs'

const { victim, hint } = targets
const id = encodeURIComponent
const [mine, theirs] = [own, victim.id]
const hidden = ({ status, json, said }) => status === 404 && json?.code === 'not_found' && !said.includes(hint)
const each = (requests) => Promise.all(requests.map(([method, path, body]) => call(method, path, { body })))
const allHidden = (said) => said.length > 0 && said.every(hidden)
const deck = { title: 'May I?', pages: [{ id: 'one', kind: 'decision', title: 'May I?', allowFreetext: true }] }
const pair = (subscriber, publisher) => `/v1/canvas/subscriptions?subscriber=${subscriber}&publisher=${publisher}`

/** All pages of what it reads, to the end. */
const pagesOf = async (path) => {
  const said = []
  for (let after = ''; ; ) {
    const page = await call('GET', `${path}${after && `&after=${id(after)}`}`)
    said.push(page)
    if (!page.json?.has_more || said.length > 200) return said
    after = page.json.next_cursor
  }
}

export const careTries = () => [
  {
    name: 'hearing of another, having another hear, and taking watchers away',
    why: 'who watches lies in its subtree, and who is watched in its tree',
    attempt: () =>
      each([
        ['PUT', '/v1/canvas/subscriptions', { subscriber: mine, publisher: theirs }],
        ['PUT', '/v1/canvas/subscriptions', { subscriber: theirs, publisher: mine }],
        ['DELETE', pair(mine, theirs)],
        ['DELETE', pair(theirs, mine)],
        ['GET', `/v1/canvas/subscriptions?publisher=${theirs}`],
        ['GET', `/v1/canvas/subscriptions?subscriber=${theirs}`],
        ['GET', pair(theirs, mine)],
      ]),
    held: allHidden,
  },
  {
    name: 'a copy of another, and a copy below another',
    why: 'a conversation is read by who reaches its node',
    attempt: () =>
      each([
        ['POST', `/v1/nodes/${theirs}/fork`, { root: true }],
        ['POST', `/v1/nodes/${theirs}/fork`, { parent_id: mine }],
        ['POST', `/v1/nodes/${mine}/fork`, { parent_id: theirs }],
      ]),
    held: (said) => said.slice(0, 2).every(hidden) && said[2].status >= 400 && !said[2].said.includes(hint),
  },
  {
    name: 'a question in the name of another, and the questions of others',
    why: 'it asks for itself and what is below it',
    attempt: async () => [
      await call('POST', '/v1/human/requests', { body: { ...deck, node_id: theirs } }),
      ...(await each([
        ['GET', '/v1/human/requests?limit=200'],
        ['GET', `/v1/human/requests?node_id=${theirs}`],
        ['POST', '/v1/canvas/attention/counts', { ids: [theirs] }],
      ])),
    ],
    held: ([made, ...read]) => {
      if (!hidden(made) || read.some(({ status, said }) => status !== 200 || said.includes(hint))) return false
      return read[1].json.data.length === 0 && read[2].json.counts[theirs] === 0
    },
  },
  {
    name: 'an answer to its own question',
    why: 'a person answers',
    attempt: async () => {
      const { json: asked } = await call('POST', '/v1/human/requests', { body: deck })
      const response = [{ id: 'one', freetext: 'yes' }]
      const said = await each([
        ['POST', `/v1/human/requests/${asked.id}/respond`, { response }],
        ['POST', `/v1/human/requests/${asked.id}/dismiss`, {}],
      ])
      const left = await call('POST', `/v1/human/requests/${asked.id}/cancel`, { body: {} })
      return [...said, left]
    },
    held: ([answered, dismissed, left]) =>
      [answered, dismissed].every(({ status, json }) => status === 403 && json.code === 'owner_required') &&
      left.json?.status === 'canceled' &&
      left.json.response === null,
  },
  {
    name: 'the events of all nodes, by every filter and by positions of its own making',
    why: 'a node sees those of its subtree',
    attempt: async () => {
      const all = await Promise.all(
        ['', '&types=message.*', '&types=question.asked,node.created', '&since=1970-01-01T00:00:00Z', '&after=0'].map(
          (filter) => pagesOf(`/v1/canvas/events?limit=500${filter}`),
        ),
      )
      return [await call('GET', `/v1/canvas/events?under=${theirs}`), ...all.flat()]
    },
    held: ([under, ...read]) =>
      hidden(under) && read.every(({ said }) => !said.includes(hint) && !said.includes(theirs)),
  },
  {
    name: 'its own place: bringing itself a persona from elsewhere',
    why: "a kind is a name in the owner's directory",
    attempt: () =>
      each(
        ['../../owner', '..', '/etc/passwd', 'a/b', 'owner.token', 'x\0y'].map((kind) => [
          'POST',
          `/v1/nodes/${mine}/promote`,
          { kind },
        ]),
      ),
    held: (said) => said.every(({ status, json }) => status === 422 && json.code === 'validation_failed'),
  },
  {
    name: "the owner's ticket of a viewer, guessed",
    why: 'it is signed with a key that no node has',
    attempt: () =>
      Promise.all(
        ['', '1.', `9999999999999.${'A'.repeat(43)}`, `9999999999999.${token.slice(-43)}`].map((ticket) =>
          call('POST', `/v1/nodes/${mine}/broker/viewer`, { body: { ticket, act: { type: 'interrupt' } } }),
        ),
      ),
    held: (said) => said.every(({ status, json }) => status === 403 && json.code === 'owner_required'),
  },
]
