import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { endFrame, frameOf } from './frames.js'
import { SseClient } from './sse.client.js'

/** The part of Node's response that a stream uses; the client reads when told to. */
class Response extends EventEmitter {
  sent = ''
  writableLength = 0
  closed = false

  write(frame: Buffer): boolean {
    this.sent += frame.toString()
    this.writableLength += frame.length
    return this.writableLength < 100
  }

  end(frame: Buffer): void {
    this.write(frame)
    this.closed = true
  }

  destroy(): void {
    this.emit('close')
  }

  read(): void {
    this.writableLength = 0
    this.emit('drain')
  }
}

const open = (limit?: number): { client: SseClient; response: Response } => {
  const response = new Response()
  return { response, client: new SseClient(response as unknown as ServerResponse, systemClock, limit) }
}

describe('a frame', () => {
  it('is id, event and data, on a line each', () => {
    expect(frameOf({ id: '7', event: 'node.idle', data: { text: 'a\nb' } }).toString()).toBe(
      'id: 7\nevent: node.idle\ndata: {"text":"a\\nb"}\n\n',
    )
  })

  it('can’t be forged by the name of an item', () => {
    expect(frameOf({ event: 'x\ndata: forged\n\n', data: 1 }).toString().split('\n\n')).toHaveLength(2)
  })
})

describe('a client', () => {
  it('that does not read is cut off with a last overflow', () => {
    const { client, response } = open(250)
    const frame = Buffer.from('x'.repeat(100))
    for (let at = 0; at < 9; at += 1) client.push(frame)
    expect(response.sent).toMatch(/^x{200}event: overflow\ndata: .*"slow_client".*\n\n$/)
    expect([response.closed, client.isOpen]).toEqual([true, false])
  })

  it('may be sent one frame larger than the limit', () => {
    const { client, response } = open(10)
    client.push(Buffer.from('x'.repeat(50)))
    expect([response.closed, response.sent.length]).toEqual([false, 50])
  })

  it('that is waited for takes its time', async () => {
    const { client, response } = open()
    const order: string[] = []
    const sent = client.send(Buffer.from('x'.repeat(200))).then(() => order.push('sent'))
    order.push('reads')
    response.read()
    await sent
    expect(order).toEqual(['reads', 'sent'])
  })

  it('that goes keeps nobody waiting', async () => {
    const { client, response } = open()
    const sent = client.send(Buffer.from('x'.repeat(200)))
    response.destroy()
    await sent
    expect(client.isOpen).toBe(false)
  })

  it('hears a beat only in silence', () => {
    const { client, response } = open()
    client.push(Buffer.from('x'))
    client.beat()
    client.beat()
    client.push(Buffer.from('y'))
    client.beat()
    expect(response.sent).toBe('x:\n\ny')
  })

  it('hears of the end once, and nothing after it', () => {
    const { client, response } = open()
    client.end('draining')
    client.end('again')
    client.push(Buffer.from('late'))
    expect(response.sent).toBe(endFrame('draining').toString())
  })
})
