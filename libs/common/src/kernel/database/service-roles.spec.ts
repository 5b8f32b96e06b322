import { describe, expect, it } from '@jest/globals'
import { roleNameOf, urlAs } from './service-roles.js'

describe('roleNameOf', () => {
  it.each([
    ['svc', 'postgres', 'svc_gateway'],
    ['svc', 'svc', 'svc_gateway'],
    ['ada', 'canvas', 'ada_canvas_gateway'],
  ])('of %s on %s', (admin, database, name) => {
    expect(roleNameOf(admin, database, 'gateway')).toBe(name)
  })

  it('never reaches the length at which Postgres cuts names off, and stays one a service and database', () => {
    const names = ['a', 'b'].flatMap((end) =>
      (['gateway', 'lifecycle'] as const).map((service) => roleNameOf('svc', `${'é'.repeat(30)}${end}`, service)),
    )
    expect(names.every((name) => Buffer.byteLength(name) <= 63)).toBe(true)
    expect(new Set(names).size).toBe(4)
  })
})

describe('urlAs', () => {
  it.each([
    ['postgresql://ada:old@db:5433/x?sslmode=require', 'postgresql://ada_gateway:new@db:5433/x?sslmode=require'],
    ['postgresql://ada@db/x?user=eve&password=old', 'postgresql://ada_gateway:new@db/x'],
    ['postgresql:///x?host=%2Frun', 'postgresql:///x?host=%2Frun&user=ada_gateway&password=new'],
  ])('%s', (url, other) => {
    expect(urlAs(url, 'ada_gateway', 'new')).toBe(other)
  })
})
