import { beforeAll, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { TrustStage, Voice } from './trust.stage.js'

interface Registered {
  readonly id: string
  readonly publish_token: string
}

const built = (payload: unknown = {}) => ({ event: 'built', payload })
const missing = { status: 404, body: { code: 'not_found' } }

/** Who sees an object, and what its publish token opens; part of a suite that has a stage. */
export const rulesOfObjects = (stageOf: () => TrustStage): void => {
  let stage: TrustStage
  let made = 0

  const registered = async (more: object = {}): Promise<Registered> => {
    made += 1
    const body = { name: `trusted-${made}`, catalog: [{ event: 'built' }], ...more }
    const said = await stage.owner('POST /v1/custom-objects', body)
    if (said.status !== 201) throw new Error(JSON.stringify(said.body))
    return said.body
  }
  const published = async (id: string): Promise<number> =>
    (await stage.owner(`GET /v1/custom-objects/${id}`)).body.published
  const idsOf = async (ask: Voice, path: string): Promise<string[]> =>
    ((await ask(`GET ${path}`)).body.data as { id: string }[]).map(({ id }) => id)

  beforeAll(() => {
    stage = stageOf()
  })

  describe('svc:objects:read:app:<id> gates', () => {
    it("reading another app's nodes and their objects, and changes neither", async () => {
      const acting = ['svc:act', 'svc:llm']
      const cwd = stage.directory()
      const theirs = await stage.app([...acting, `svc:files:rw:user:${cwd}`])
      const grant = (scopes: readonly string[]) => stage.app([...acting, ...scopes])
      const [having, without] = await Promise.all([grant([`svc:objects:read:app:${theirs}`]), grant([])])
      const [reader, stranger, owner] = await Promise.all([having, without, theirs].map((app) => stage.asApp(app)))
      const program = { prompt: 'wait', cwd, engine: 'exec', exec: { argv: ['cat'] } }
      const node = (await (owner as Voice)('POST /v1/nodes', program)).body.id
      const { id: object } = await registered({ app: theirs })
      const ofObject = ['', '/events', '/types', '/asyncapi'].map((part) => `GET /v1/custom-objects/${object}${part}`)
      const ofNode = ['', '/outcome', '/reports', '/jobs', '/faults'].map((part) => `GET /v1/nodes/${node}${part}`)
      const lists = [`/v1/nodes?app=${theirs}`, `/v1/custom-objects?app_id=${theirs}`] as const

      for (const call of [...ofObject, ...ofNode]) {
        expect([call, (await (reader as Voice)(call)).status]).toEqual([call, 200])
        expect([call, await (stranger as Voice)(call)]).toMatchObject([call, missing])
      }
      expect(await Promise.all(lists.map((list) => idsOf(reader as Voice, list)))).toEqual([[node], [object]])
      expect(await Promise.all(lists.map((list) => idsOf(stranger as Voice, list)))).toEqual([[], []])

      expect(await (owner as Voice)(`POST /v1/custom-objects/${object}/publish`, built())).toMatchObject({
        status: 202,
      })
      for (const [call, body] of [
        [`POST /v1/custom-objects/${object}/publish`, built()],
        [`POST /v1/nodes/${node}/message`, { body: 'hello' }],
        [`POST /v1/nodes/${node}/cancel`, {}],
        ['PUT /v1/canvas/watches', { watcher: node, source: object }],
      ] as const)
        expect([call, await (reader as Voice)(call, body)]).toMatchObject([call, missing])
      expect([await published(object), (await stage.owner(`GET /v1/nodes/${node}`)).body.status]).toEqual([1, 'active'])
    })
  })

  describe('an object', () => {
    it('of no app is seen by nodes that the owner started; one of an app by that app and its nodes alone', async () => {
      const scopes = ['svc:act', 'svc:llm']
      const cwd = stage.directory()
      const app = await stage.app([...scopes, `svc:files:rw:user:${cwd}`])
      const [ofNobody, ofApp] = [await registered(), await registered({ app })]
      const ownNode = await stage.asNode((await stage.waiting({ scopes })).id)
      const appVoice = await stage.asApp(app)
      const program = { prompt: 'wait', cwd, engine: 'exec', exec: { argv: ['cat'] } }
      const appNode = await stage.asNode((await appVoice('POST /v1/nodes', program)).body.id)

      for (const [ask, seen, hidden] of [
        [ownNode, ofNobody, ofApp],
        [appVoice, ofApp, ofNobody],
        [appNode, ofApp, ofNobody],
      ] as const) {
        expect((await ask(`GET /v1/custom-objects/${seen.id}`)).status).toBe(200)
        expect((await ask(`POST /v1/custom-objects/${seen.id}/publish`, built())).status).toBe(202)
        expect(await idsOf(ask, '/v1/custom-objects')).toEqual(expect.not.arrayContaining([hidden.id]))
        for (const call of [`GET /v1/custom-objects/${hidden.id}`, `POST /v1/custom-objects/${hidden.id}/publish`])
          expect(await ask(call, call.startsWith('POST') ? built() : undefined)).toMatchObject(missing)
      }
      expect([await published(ofNobody.id), await published(ofApp.id)]).toEqual([1, 2])
    })

    it('is published to by a node with svc:act, and registered, changed and consumed by the owner alone', async () => {
      const { id } = await registered({ receiver: { type: 'queue' } })
      const scopes = ['svc:llm', 'svc:schedule']
      const weak = await stage.asNode((await stage.waiting({ scopes })).id)
      const strong = await stage.asNode((await stage.waiting({ scopes: ['svc:act', 'svc:llm'] })).id)
      const publish = `POST /v1/custom-objects/${id}/publish`

      expect(await weak(publish, built())).toMatchObject({
        status: 403,
        body: { code: 'scope_missing', scope: 'svc:act' },
      })
      expect((await strong(publish, built())).status).toBe(202)
      for (const [call, body] of [
        ['POST /v1/custom-objects', { name: 'mine' }],
        [`PATCH /v1/custom-objects/${id}`, { description: 'mine' }],
        [`POST /v1/custom-objects/${id}/rotate`, {}],
        [`POST /v1/custom-objects/${id}/ack`, { ids: [newId('dlv')] }],
        [`GET /v1/custom-objects/${id}/deliveries`],
        [`GET /v1/custom-objects/${id}/receive`],
        [`DELETE /v1/custom-objects/${id}`],
      ] as const)
        expect([call, await strong(call, body)]).toMatchObject([
          call,
          { status: 403, body: { code: 'owner_required' } },
        ])
    })
  })

  describe('a publish token', () => {
    it('publishes to its object, tells nothing of another one, and its refusals are in the audit log', async () => {
      const [mine, other] = [await registered(), await registered()]
      const ask = stage.voice(mine.publish_token)

      expect((await ask(`POST /v1/custom-objects/${mine.id}/publish`, built())).status).toBe(202)
      const batch = { events: [built(), built()] }
      expect((await ask(`POST /v1/custom-objects/${mine.id}/publish-batch`, batch)).status).toBe(202)
      const [known, unknown] = [other.id, newId('obj')]
      const told = await Promise.all(
        [known, unknown].map(async (id) => {
          const { status, body } = await ask(`POST /v1/custom-objects/${id}/publish`, built())
          return JSON.stringify([status, { ...body, request_id: null, instance: null }]).replaceAll(id, 'it')
        }),
      )
      expect(told[0]).toBe(told[1])
      expect(told[0]).toMatch(/^\[404/)
      for (const call of [`GET /v1/custom-objects/${mine.id}`, 'GET /v1/custom-objects', `GET /v1/canvas/watches`])
        expect(await ask(call)).toMatchObject({ status: 403, body: { code: 'publish_token_only' } })
      expect([await published(mine.id), await published(other.id)]).toEqual([3, 0])

      const principal = `object:${mine.id}`
      expect((await ask('GET /v1/token')).body).toMatchObject({ kind: 'pub', principal, scopes: [] })
      const [line] = await waitFor(async () => {
        const { body } = await stage.owner(`GET /v1/audit?principal=${principal}`)
        return body.data.length > 0 && body.data
      })
      expect(line).toMatchObject({
        actor: { kind: 'pub', principal, token_id: expect.stringMatching(/^tok_/) },
        decision: 'denied',
        code: 'publish_token_only',
      })
    })

    it('ends with a rotation, at once or after its overlap, and with its object', async () => {
      const { id, publish_token: first } = await registered()
      const publish = (token: string) => stage.voice(token)(`POST /v1/custom-objects/${id}/publish`, built())
      const rotate = async (overlap: number): Promise<string> =>
        (await stage.owner(`POST /v1/custom-objects/${id}/rotate`, { overlap })).body.publish_token
      const refused = { status: 401, body: { code: 'token_revoked' } }

      const second = await rotate(60)
      expect([(await publish(first)).status, (await publish(second)).status]).toEqual([202, 202])
      const third = await rotate(0)
      expect([await publish(second), (await publish(third)).status]).toMatchObject([refused, 202])
      expect((await stage.owner(`DELETE /v1/custom-objects/${id}`)).body).toEqual({ deleted: true })
      expect(await publish(third)).toMatchObject(refused)

      const lines = (await stage.owner('GET /v1/audit?operation=customObjects.rotate&limit=2')).body.data
      const resource = `/v1/custom-objects/${id}/rotate`
      expect(lines).toMatchObject([1, 2].map(() => ({ actor: { kind: 'owner' }, decision: 'allowed', resource })))
    })
  })
}
