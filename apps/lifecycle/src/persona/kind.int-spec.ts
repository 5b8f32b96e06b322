import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { SvcError } from '#common/kernel/errors.js'
import { take } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { PersonaDirectory } from './persona.directory.js'

let lifecycle: LifecycleUnderTest
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-personas-'))
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_PERSONAS_DIR: directory } })
})
afterAll(async () => {
  await lifecycle.stop()
  await rm(directory, { recursive: true })
})

const write = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text)
const refusal = (kind: string): Promise<SvcError> =>
  lifecycle.create({ kind }).then(
    () => {
      throw new Error('a node was made')
    },
    (error: SvcError) => error,
  )

describe('a kind', () => {
  it('that there is not is refused, with all that there are', async () => {
    await write('sailor.md', '---\ndescription: Sails\n---\nYou sail.')
    expect(await refusal('pirate')).toMatchObject({
      code: 'validation_failed',
      fields: {
        errors: [
          {
            pointer: '/kind',
            message: 'there is no kind "pirate"; there are: general, explore, plan, develop, review, sailor',
          },
        ],
      },
    })
  })

  it('decides the strength where no model is named, unless a parent was given one of its own', async () => {
    const strengthOf = async (kind: string, more = {}) => (await lifecycle.create({ kind, ...more })).model
    expect(await strengthOf('explore')).toEqual({ strength: 'light' })
    expect(await strengthOf('plan')).toEqual({ strength: 'strong' })
    expect(await strengthOf('general')).toEqual({ strength: 'medium' })
    expect(await strengthOf('plan', { model: { strength: 'light' } })).toEqual({ strength: 'light' })
    const parent = await lifecycle.create({ model: { strength: 'ultra', override: 'mock/m' } })
    expect(await strengthOf('explore', { parent_id: parent.id })).toEqual({ strength: 'light', override: 'mock/m' })
    expect(await strengthOf('general', { parent_id: parent.id })).toEqual({ strength: 'ultra', override: 'mock/m' })
  })
})

describe('a persona of the owner', () => {
  it('gives a node its role, tools and defaults, which it keeps when the file changes', async () => {
    await write(
      'captain.md',
      '---\nstrength: strong\nmode: orchestrator\nlifecycle: resident\ntools: spawn, read\n---\nYou command.',
    )
    const parent = await lifecycle.create()
    const { node, assignment } = await lifecycle.running({ kind: 'captain', parent_id: parent.id })
    expect(node).toMatchObject({
      kind: 'captain',
      mode: 'orchestrator',
      lifecycle: 'resident',
      model: { strength: 'strong' },
    })
    expect(assignment).toMatchObject({ persona: { role: 'You command.', tools: ['spawn', 'read'] }, depth: 1 })
    await write('captain.md', '---\n---\nYou obey.')
    expect((await lifecycle.running({ kind: 'captain' })).assignment.persona).toEqual({ role: 'You obey.' })
    expect((await lifecycle.create({ kind: 'captain', mode: 'base', lifecycle: 'terminal' })).mode).toBe('base')
  })

  it('is taken on by a node that is promoted, and heard by its broker', async () => {
    await write('admiral.md', '---\n---\nYou command fleets.')
    const { node, broker } = await lifecycle.running()
    await expect(lifecycle.call('nodes.promote', { id: node.id, kind: 'ghost' })).rejects.toThrow(/no kind "ghost"/)
    const heard = take(broker.signals(), (signal) => signal.type === 'changed' && signal.kind === 'admiral')
    expect(await lifecycle.call('nodes.promote', { id: node.id, kind: 'admiral' })).toMatchObject({ kind: 'admiral' })
    expect((await heard).at(-1)).toMatchObject({ persona: { role: 'You command fleets.' } })
  })

  it('counts before a built-in kind of its name', async () => {
    await write('develop.md', '---\nstrength: ultra\n---\nYou write little.')
    const { node, assignment } = await lifecycle.running({ kind: 'develop' })
    expect(node.model.strength).toBe('ultra')
    expect(assignment.persona).toEqual({ role: 'You write little.' })
  })

  // A persona that could not be read was passed over, and the node did other work than it was made for.
  it('that is malformed is an error that says what is wrong with it', async () => {
    await write('broken.md', '---\nstrength: hefty\n---\nYou lift.')
    await mkdir(join(directory, 'folder.md'))
    await write('large.md', `---\n---\n${'x'.repeat(70_000)}`)
    const fault = { errors: [{ message: expect.stringMatching(/broken\.md can't be used: strength is "hefty"/) }] }
    expect(await refusal('broken')).toMatchObject({ code: 'validation_failed', fields: fault })
    expect(String(await refusal('folder'))).toMatch(/not a regular file|is a directory/)
    expect(String(await refusal('large'))).toMatch(/70\d\d\d bytes; at most 65536/)
    const { data } = await lifecycle.call('kinds.list', {})
    expect(data.find(({ kind }) => kind === 'broken')).toMatchObject({ source: 'persona', fault: expect.any(String) })
    expect(data.find(({ kind }) => kind === 'captain')).toMatchObject({ source: 'persona', fault: null })
    expect(data.find(({ kind }) => kind === 'explore')).toMatchObject({ source: 'built_in', strength: 'light' })
  })

  it('is looked for in its directory alone', async () => {
    await write('../outside.md', '---\n---\nYou are elsewhere.')
    try {
      for (const kind of ['../outside', 'a/b', '.hidden', 'UPPER']) {
        expect(await refusal(kind)).toMatchObject({ code: 'validation_failed' })
      }
      expect(await new PersonaDirectory(directory).find('../outside')).toBeUndefined()
      await write('.hidden.md', '---\n---\nYou hide.')
      const names = (await lifecycle.call('kinds.list', {})).data.map(({ kind }) => kind)
      expect(names).not.toContain('.hidden')
    } finally {
      await rm(join(directory, '../outside.md'))
    }
  })
})
