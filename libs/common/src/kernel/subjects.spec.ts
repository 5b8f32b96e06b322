import { describe, expect, it } from '@jest/globals'
import { type Operation, operations, type ServiceName } from '../contract/index.js'
import { mayPublish, permissionsOf, subjects } from './subjects.js'

const services: readonly ServiceName[] = ['gateway', 'lifecycle', 'models', 'scheduler', 'objects', 'host']

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
    expect(permissionsOf('host').subscribe).toEqual(['svc.cmd.host.>', 'svc.cancel.host.>', 'svc.inbox.host.>'])
  })

  // A command names its actor itself. The host could send any command of lifecycle, so that whoever got hold of its
  // password, which stands beside agents' programs, was the owner.
  it('let the host tell of itself and nothing else', () => {
    expect(permissionsOf('host').publish).toEqual([
      'svc.inbox.gateway.>',
      'svc.inbox.lifecycle.>',
      'svc.inbox.scheduler.>',
      'svc.inbox.objects.>',
      'svc.cmd.lifecycle.host.>',
      'svc.cancel.lifecycle.host',
    ])
  })

  it('let the gateway alone send every command, and to a host those of files and the shell', () => {
    const sends = (service: ServiceName) => permissionsOf(service).publish.filter((one) => one.startsWith('svc.cmd.'))
    expect(sends('gateway')).toEqual([
      'svc.cmd.lifecycle.>',
      'svc.cmd.models.>',
      'svc.cmd.scheduler.>',
      'svc.cmd.objects.>',
      'svc.cmd.host.*.bash.run',
      'svc.cmd.host.*.files.*',
    ])
    expect(sends('lifecycle')).toEqual([
      'svc.cmd.host.>',
      'svc.cmd.models.ready',
      'svc.cmd.models.readiness',
      'svc.cmd.scheduler.node.ended',
      'svc.cmd.scheduler.node.succeeded',
      'svc.cmd.objects.node.ended',
      'svc.cmd.objects.node.succeeded',
    ])
    expect(sends('models')).toEqual(['svc.cmd.lifecycle.usage.record'])
  })

  // It names whom it acts for. Everything else of lifecycle would believe it, the creation of a node in the owner's name
  // too: what it may ask looks up what that one may do now.
  it('let the scheduler ask lifecycle about work on an authority, and a host for a command', () => {
    expect(permissionsOf('scheduler').publish).toEqual([
      'svc.inbox.gateway.>',
      'svc.inbox.lifecycle.>',
      'svc.inbox.objects.>',
      'svc.inbox.host.>',
      'svc.cmd.lifecycle.work.*',
      'svc.cmd.lifecycle.concern.set',
      'svc.cmd.host.*.bash.run',
      'svc.cmd.objects.customObjects.publish',
      'svc.cmd.objects.publication.check',
      'svc.cancel.lifecycle.scheduler',
      'svc.cancel.host.*.scheduler',
      'svc.cancel.objects.scheduler',
    ])
  })

  // It speaks to receivers outside. Of lifecycle it may read nodes, hand them mail and say what needs a person.
  it('let objects ask lifecycle what nodes are and did and tell them of events, and a host for a program', () => {
    const { publish, subscribe } = permissionsOf('objects')
    expect(publish).toEqual([
      'svc.inbox.gateway.>',
      'svc.inbox.lifecycle.>',
      'svc.inbox.scheduler.>',
      'svc.inbox.host.>',
      'svc.cmd.lifecycle.nodes.retrieve',
      'svc.cmd.lifecycle.canvas.readEvents',
      'svc.cmd.lifecycle.events.hand',
      'svc.cmd.lifecycle.concern.set',
      'svc.cmd.host.*.argv.run',
      'svc.cancel.lifecycle.objects',
      'svc.cancel.host.*.objects',
      'svc.evt.objects.deliveries',
    ])
    expect(subscribe).toContain('svc.evt.objects.deliveries')
  })

  it('name commands that the contract has', () => {
    const known = operations.map((one: Operation) => subjects.command(one, one.service === 'host' ? 'h' : undefined))
    const named = services
      .flatMap((service) => permissionsOf(service).publish)
      .filter((one) => /^svc[.]cmd[.].*[^>]$/.test(one))
      .map((one) => one.replace('.host.*.', '.host.h.').replace(/[*]$/, ''))
    expect(named.filter((subject) => !known.some((one) => one.startsWith(subject)))).toEqual([])
  })

  it('let it take back its own calls and nobody else’s', () => {
    const cancels = (service: ServiceName) =>
      permissionsOf(service).publish.filter((one) => one.startsWith('svc.cancel.'))
    expect(cancels('gateway')).toEqual([
      'svc.cancel.lifecycle.gateway',
      'svc.cancel.models.gateway',
      'svc.cancel.scheduler.gateway',
      'svc.cancel.objects.gateway',
      'svc.cancel.host.*.gateway',
    ])
    expect(cancels('models')).toEqual(['svc.cancel.lifecycle.models'])
    expect(subjects.cancel('host', 'gateway', 'local')).toBe('svc.cancel.host.local.gateway')
  })

  it('let lifecycle alone publish events of nodes', () => {
    const publishers = services.filter((service) => mayPublish(service, subjects.nodeEvent('node_x', 'node.done')))
    expect(publishers).toEqual(['lifecycle'])
  })

  // Whoever could say that a token has changed could make every gateway ask its database at will.
  it('let the gateway alone tell and hear that a token or a grant has changed', () => {
    expect(services.filter((service) => mayPublish(service, subjects.trust()))).toEqual(['gateway'])
    expect(services.filter((service) => permissionsOf(service).subscribe.includes(subjects.trust()))).toEqual([
      'gateway',
    ])
    expect(services.filter((service) => permissionsOf(service).subscribe.includes('svc.evt.>'))).toEqual([])
  })
})
