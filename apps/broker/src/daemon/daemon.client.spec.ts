import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { json, WireServer } from '../../../../test/support/wire-server.js'
import { DaemonClient } from './daemon.client.js'
import { wholeCharacters } from './whole.characters.js'

let wire: WireServer
beforeAll(async () => {
  wire = await WireServer.start()
})
afterAll(() => wire.stop())

// The daemon refuses it: the node of whatever wrote it would have ended.
it('what a node sends has no half of a surrogate pair, whoever wrote it', async () => {
  const daemon = new DaemonClient({ baseUrl: wire.url, token: 'svc_node_x', nodeId: 'node_x' })
  wire.says(json({}))
  await daemon.post('broker/journal', { text: 'a\ud83d', whole: '😀\\ud83d', '\udc00': null })
  expect(wire.only.body).toEqual({ text: 'a\ufffd', whole: '😀\\ud83d', '\ufffd': null })
})

it.each([
  [String.raw`["\ud83d\ude00","\uD83D\uDE00","\\ud83d","\u00e4"]`, ['😀', '😀', '\\ud83d', 'ä']],
  [String.raw`["\ud83d","\ude00\ud83d","\\\ud83da"]`, ['\ufffd', '\ufffd\ufffd', '\\\ufffda']],
])('the characters of %s are whole', (text, values) => expect(JSON.parse(wholeCharacters(text))).toEqual(values))
