import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'

interface Guard {
  /** What once happened to somebody. */
  readonly fault: string
  /** Tests that fail without what keeps it from happening here: file and name. */
  readonly tests: readonly (readonly [file: string, name: string])[]
}

const lifecycle = 'apps/lifecycle/src'
const order = `${lifecycle}/mail/order.int-spec.ts`
const faults = `${lifecycle}/fault/fault.int-spec.ts`
const ends = `${lifecycle}/supervision/ends.int-spec.ts`
const yields = `${lifecycle}/context/yield.int-spec.ts`
const revives = `${lifecycle}/context/revive.int-spec.ts`
const stops = 'apps/broker/src/loop/loop.stop.int-spec.ts'
const viewers = 'apps/broker/src/viewer/viewer.int-spec.ts'
const providers = 'test/e2e/provider-faults.e2e-spec.ts'

/** The faults that this daemon has to stand, by their numbers, and where each is held off. */
const guards: Readonly<Record<number, Guard>> = {
  1: {
    fault: 'two revives at once launch two brokers',
    tests: [[revives, 'asked for twice at once launches one process']],
  },
  2: {
    fault: 'a revive between the clearing and the recording of the process id',
    tests: [[revives, 'while a launch is under way, that is not recorded yet, leaves it alone']],
  },
  3: {
    fault: 'a process id that a stranger has now',
    tests: [
      [
        `${lifecycle}/broker/bind.int-spec.ts`,
        'refuses another process of the same generation, also one that took over the number of the first',
      ],
    ],
  },
  4: {
    fault: 'a broker that never boots is waited for for ever',
    tests: [
      [
        `${lifecycle}/supervision/boot.int-spec.ts`,
        'is given up after the grace, with a notice to the parent, and ended',
      ],
    ],
  },
  5: {
    fault: 'the creation says yes and the boot fails silently',
    tests: [[ends, 'ends the node with the last words of its process, told to those who wait']],
  },
  6: {
    fault: 'a refresh whose turn never ends',
    tests: [[yields, 'begins when the turn before it does not end in time, and says what was cut off']],
  },
  7: {
    fault: 'a yield while the supervisor is down',
    tests: [[yields, 'is begun after a restart of the writer, whenever that came']],
  },
  8: {
    fault: 'a node that does nothing any more after an outage of its provider',
    tests: [
      [providers, 'holds the node without a process, and is asked again as soon as it is back'],
      [faults, 'survives a restart'],
    ],
  },
  9: {
    fault: 'blind restarts while the network is away',
    tests: [[faults, 'holds the node, which is tried again when its provider answers and not before']],
  },
  10: {
    fault: 'every revive picks the same missing model',
    tests: [[providers, 'does not end a node whose ladder has another, however often it is brought back']],
  },
  11: {
    fault: 'a provider is down and a healthy one idle',
    tests: [
      [
        providers,
        'before its first word is followed by the next one of the ladder, and the node shows which one answered',
      ],
      [
        'apps/models/src/llm/llm.int-spec.ts',
        'opens after failures in a row, and the next rung serves without waiting for it',
      ],
    ],
  },
  12: {
    fault: 'a question was answered and the answer never delivered',
    tests: [
      [
        `${lifecycle}/human/human-request.int-spec.ts`,
        'keeps the answer as unread mail until it is acknowledged, whatever dies',
      ],
    ],
  },
  13: {
    fault: 'the closing of a node brings it or others back',
    tests: [
      [
        `${lifecycle}/report/report.int-spec.ts`,
        'of a child, or its end, does not reopen the work of a parent that has ended',
      ],
      [
        `${lifecycle}/cancel/cancel.int-spec.ts`,
        'is told to everyone outside who watches, once, and to nobody that ended with it',
      ],
    ],
  },
  14: {
    fault: 'an end that is not told to those who wait',
    tests: [
      [`${lifecycle}/wait/wait.int-spec.ts`, 'hears that it was canceled, as who waits for its outcome does'],
      [ends, 'that is %s wakes every active subscriber, and lies ready for each passive one'],
    ],
  },
  15: {
    fault: 'a node comes back fresh without its mandate',
    tests: [
      [revives, 'in fresh mode begins a new context that knows the mandate, the note and the newest reports'],
      [`${lifecycle}/roadmap/roadmap.int-spec.ts`, 'is told to it at the beginning of each fresh context'],
    ],
  },
  16: {
    fault: 'a message that races a yield',
    tests: [[yields, 'that a message races has it once, wherever it came']],
  },
  17: {
    fault: 'a shell command without an end holds its node',
    tests: [['apps/broker/src/loop/loop.engine.int-spec.ts', 'ends a command at its time limit, with what it started']],
  },
  18: {
    fault: 'a crash leaves shells and jobs behind',
    tests: [
      ['apps/broker/src/broker.int-spec.ts', 'takes the broker and its tools along when it goes'],
      [
        'apps/host/src/job/job.int-spec.ts',
        'is lost with a host that is killed, and its processes are dead before the next start says so',
      ],
    ],
  },
  19: {
    fault: 'nodes that make nodes without an end',
    tests: [
      ['test/e2e/agents.e2e-spec.ts', 'come to an end eight deep, where the last one is told to do the work itself'],
      [`${lifecycle}/node/create.int-spec.ts`, 'what nests deeper than 8, also by way of a root that a node makes'],
    ],
  },
  20: {
    fault: 'a boot fails and nothing was logged',
    tests: [
      ['apps/host/src/broker/broker.service.int-spec.ts', 'tell how a broker failed, with its last words'],
      [ends, 'ends the node with the last words of its process, told to those who wait'],
    ],
  },
  21: {
    fault: 'watchers that pile up on each reload are told twice',
    tests: [
      [
        `${lifecycle}/subscription/subscription.int-spec.ts`,
        'made again is one: what it hears comes once, and the mode is the last one',
      ],
      ['apps/gateway/src/canvas-events.int-spec.ts', 'is one stream for a page that is loaded again and again'],
    ],
  },
  22: {
    fault: 'mail that was sent before its watcher began is dropped',
    tests: [[order, 'that came before its reader connected is announced to it']],
  },
  23: {
    fault: 'two mails in one millisecond',
    tests: [[order, 'of one millisecond, and reports of one second, are all there, in order']],
  },
  24: {
    fault: 'two reports in one second',
    tests: [[order, 'of one millisecond, and reports of one second, are all there, in order']],
  },
  25: {
    fault: 'a notice is taken in and nothing follows from it',
    tests: [
      [order, 'that a failed turn took in is before the eyes of the next one'],
      [stops, 'is told once more when all it says of a notice is that it has read it'],
    ],
  },
  26: {
    fault: 'a fork takes itself for its source',
    tests: [
      [`${lifecycle}/context/fork.int-spec.ts`, 'at a turn goes on from there, and is told whose copy it is'],
      [
        'test/e2e/contexts.e2e-spec.ts',
        'at an earlier turn answers from there, is told who it is, and leaves its source alone',
      ],
    ],
  },
  27: {
    fault: 'a second final report',
    tests: [
      [`${lifecycle}/report/report.int-spec.ts`, 'that is final comes once, also when two are given at the same time'],
    ],
  },
  28: {
    fault: 'one bad record hides the rest',
    tests: [
      [
        `${lifecycle}/supervision/bad-record.int-spec.ts`,
        'keeps no other node from being looked after, and is tried again',
      ],
      ['apps/host/src/job/job.int-spec.ts', 'keeps no host from starting whose files can not be read'],
    ],
  },
  29: {
    fault: 'control stays with a viewer that has left',
    tests: [
      [viewers, 'is free as soon as who had it is gone'],
      ['apps/broker/src/viewer/viewer.control.spec.ts', 'lasts as long as its holder is heard'],
    ],
  },
  30: {
    fault: 'a slow viewer takes ever more memory, or holds up the others',
    tests: [
      [viewers, 'is dropped, and holds up neither the node nor who reads'],
      ['apps/gateway/src/streams.int-spec.ts', 'cut a client off that does not read, and harm no other'],
      [
        'apps/broker/src/daemon/delta.feed.spec.ts',
        'takes little memory while nobody takes it, and is told from its last 64 KiB on to who lost the rest',
      ],
    ],
  },
  31: {
    fault: 'a snapshot without some of the turns',
    tests: [[viewers, 'welcomes with the whole turn so far, then says what comes']],
  },
  32: {
    fault: 'a dialog that nobody attends blocks a turn',
    tests: [[stops, 'give a program that asks on %s no answer, at once']],
  },
  38: {
    fault: 'a malformed configuration is passed over, an unknown model replaced without a word',
    tests: [
      ['libs/common/src/kernel/config.spec.ts', 'of an unknown name are refused, those of clients left alone'],
      [providers, 'and was named is never replaced: the node is dead, and says so'],
    ],
  },
  39: {
    fault: 'report, its fan-out and the end of the work are torn apart by a crash',
    tests: [
      [
        `${lifecycle}/supervision/bad-record.int-spec.ts`,
        'leaves nothing of itself: neither report, nor end, nor mail; and is given again',
      ],
      [
        'libs/common/src/kernel/database/writer.int-spec.ts',
        'undoes all of it when the work throws, and runs no effect',
      ],
    ],
  },
  40: {
    fault: 'crashes in a loop without an end; everything comes back at the same moment',
    tests: [
      [
        `${lifecycle}/supervision/supervision.int-spec.ts`,
        'is followed by the next at once, later ones wait longer, and as many as the budget has are the last',
      ],
      [ends, 'starts its nodes again, never more at once than may be launched'],
      [faults, 'of many nodes ends for a few at first'],
      [
        `${lifecycle}/revival/revive-all.int-spec.ts`,
        'launches them one after another, also when the writer dies right after the commit',
      ],
    ],
  },
  44: {
    fault: 'the clock jumps',
    tests: [
      [`${lifecycle}/supervision/clock-jump.int-spec.ts`, 'gives up no node that is at work or on its way'],
      [
        `${lifecycle}/supervision/clock-jump.int-spec.ts`,
        'keeps no node waiting longer for its next process than it would have waited',
      ],
      [
        'apps/models/src/provider/provider.health.spec.ts',
        'closes in its time also when the clock is set back meanwhile',
      ],
      [
        'libs/common/src/kernel/bus/cancel.int-spec.ts',
        'is told at the time-out of the caller too, whose clock may be ahead',
      ],
    ],
  },
  46: {
    fault: 'the database fails over in the middle of a transaction',
    tests: [
      ['libs/common/src/kernel/database/writer.int-spec.ts', 'runs again after its connection is lost before COMMIT'],
      ['apps/models/src/turn/turn.int-spec.ts', 'by a commit whose answer was lost is answered'],
      ['test/e2e/database-gone.e2e-spec.ts', 'finishes a node that was at work meanwhile'],
    ],
  },
  49: {
    fault: 'a tool answers a GiB',
    tests: [[stops, 'that answer a GiB are shown by their ends, in little memory']],
  },
  50: {
    fault: 'ten thousand messages wait for one node',
    tests: [[order, 'are read in the order in which each was sent, none twice, and one more is refused']],
  },
}

const numbers = [...Array.from({ length: 32 }, (_, at) => at + 1), 38, 39, 40, 44, 46, 49, 50]

/** Whether a test of this name stands in the text, by itself or once a case. */
const holds = (text: string, name: string): boolean =>
  ["'", '"', '`'].some((quote) => {
    const at = text.indexOf(`${quote}${name}${quote}`)
    return at > 0 && /(\bit|\))\(\s*$/.test(text.slice(Math.max(0, at - 20), at))
  })

describe('the faults that must be stood', () => {
  it('are all listed', () => {
    expect(Object.keys(guards).map(Number)).toEqual(numbers)
  })

  it.each(numbers.map((number) => [number, guards[number]?.fault]))('%d: %s; has its tests', (number) => {
    const { tests } = guards[number as number] as Guard
    expect(tests.length).toBeGreaterThan(0)
    const missing = tests.filter(([file, name]) => !holds(readFileSync(file, 'utf8'), name))
    expect(missing).toEqual([])
  })
})
