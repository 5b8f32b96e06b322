import { describe, expect, it } from '@jest/globals'
import { type Operation, operations } from '../contract/index.js'
import { permissionsOf, subjects } from './subjects.js'

const entry = (name: string, service: Operation['service']): Operation => ({
  name,
  service,
  kind: 'internal',
  summary: '',
})

describe('subjects of commands', () => {
  it('name the service and the operation', () => {
    expect(subjects.command(entry('nodes.create', 'lifecycle'))).toBe('svc.cmd.lifecycle.nodes.create')
  })

  it("don't repeat a service that stands in the operation's name already", () => {
    expect(subjects.command(entry('lifecycle.host.hello', 'lifecycle'))).toBe('svc.cmd.lifecycle.host.hello')
  })

  it('hold the id of the host as a token of its own', () => {
    expect(subjects.command(entry('host.broker.launch', 'host'), 'local')).toBe('svc.cmd.host.local.broker.launch')
  })

  it('refuse a host id that would reach more than one host', () => {
    for (const id of ['*', '>', 'a.b', '', 'a b']) {
      expect(() => subjects.command(entry('host.report', 'host'), id)).toThrow('one token')
    }
  })

  it('refuse a host operation without its host, and a host for any other', () => {
    expect(() => subjects.command(entry('host.report', 'host'))).toThrow('needs the id of a host')
    expect(() => subjects.command(entry('nodes.list', 'lifecycle'), 'local')).toThrow('takes no host id')
  })

  it('differ for all operations of the contract', () => {
    const all: readonly Operation[] = operations
    const served = all.filter(({ kind }) => kind !== 'composed')
    const names = served.map((one) => subjects.command(one, one.service === 'host' ? 'h' : undefined))
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('permissions of a service', () => {
  it('let it listen to its own commands and answers only', () => {
    expect(permissionsOf('host').subscribe).toEqual(['svc.cmd.host.>', 'svc.inbox.host.>'])
  })

  it('let lifecycle alone publish events of nodes', () => {
    const publishers = (['gateway', 'lifecycle', 'models', 'host'] as const).filter((service) =>
      permissionsOf(service).publish.includes('svc.evt.>'),
    )
    expect(publishers).toEqual(['lifecycle'])
  })
})
