import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { canGroup } from '#machine/process/process.group.js'
import { type ProcessRow, readProcesses } from '#machine/process/process-table.js'
import { BrokerRoutes, type PlayedNode, text, toolCall } from '../../../test/support/broker-routes.js'
import { alive, named, RunningHost, readCommand } from '../../../test/support/running-host.js'

describe('host', () => {
  let nats: NatsProcess
  let routes: BrokerRoutes
  let host: RunningHost
  let words = 0
  /** An argument that finds one test's processes again. */
  const word = (): string => {
    words += 1
    return `svc-host-test-${process.pid}-${words}`
  }
  /** A program that leaves its session and its parent, and ignores SIGTERM. */
  const escapee = (mark: string): string[] => [
    'bash',
    '-c',
    `setsid bash -c "trap '' TERM; (sleep 300; : ${mark}-deep) & while :; do sleep 1; done; : ${mark}" </dev/null >/dev/null 2>&1 & sleep 300; : ${mark}`,
  ]
  /** A program that only its pid namespace holds: no mark, no parent, no session of the broker's, and deaf to SIGTERM. */
  const fugitive = (mark: string): string[] => {
    const deaf = `trap '' TERM; while :; do sleep 1; done; : ${mark}`
    const away = `(setsid bash -c "${deaf}" &) ; exit`
    return [
      'bash',
      '-c',
      `env -i PATH="$PATH" setsid bash -c '${away.replaceAll("'", `'\\''`)}' & sleep 300; : ${mark}`,
    ]
  }
  const hunt = async (): Promise<{ mark: string; node: PlayedNode; pid: number }> => {
    const mark = word()
    const node = routes.node({ engine: 'exec', exec: { argv: fugitive(mark), stdin: 'jsonl' } })
    node.post('go')
    const { pid } = await host.launch(node, routes.url)
    await waitFor(() => readProcesses().some((row) => readCommand(row.pid).includes(mark) && wiped(row)))
    return { mark, node, pid }
  }
  const wiped = (row: ProcessRow): boolean => {
    const environment = row.environment()
    return environment.length > 2 && !environment.includes('SVC_')
  }
  const begin = async (extra: Record<string, string> = {}): Promise<void> => {
    host = new RunningHost(mkdtempSync(join(tmpdir(), 'svc-host-')), nats.url, extra)
    await host.start()
  }
  const running = (): PlayedNode => routes.node({ engine: 'exec', exec: { argv: ['sleep', '300'], stdin: 'jsonl' } })

  beforeAll(async () => {
    nats = await NatsProcess.start()
    routes = await BrokerRoutes.start()
  })
  afterEach(() => host.close())
  afterAll(async () => {
    await routes.stop()
    await nats.stop()
  })

  describe('launch', () => {
    it('hands a node to a warm process, which works on it and is released', async () => {
      await begin()
      await waitFor(async () => (await host.report()).warm === 1)
      const node = routes.node({}, () => [text('the answer')])
      node.post('the question')
      const { state } = await host.launch(node, routes.url)
      expect(state).toBe('launched')
      await waitFor(() => node.ended)
      expect(node.entries('turn_ended')).toEqual([
        { type: 'turn_ended', turn: 1, status: 'completed', final: 'the answer' },
      ])
      // The first append and the model call go out together: either may arrive first. Nothing else is needed.
      const needed = node.requests.filter((request) => !/deltas|signals/.test(request)).sort()
      expect(needed).toEqual([
        'POST broker/bind',
        'POST broker/journal',
        'POST broker/journal',
        'POST broker/model-calls',
      ])
      await waitFor(async () => (await host.report()).live === 0)
      expect(host.exits).toEqual([])
    })

    it('changes nothing when it is repeated, also after the broker is gone', async () => {
      await begin()
      const node = running()
      node.post('go')
      const [first, second] = await Promise.all([host.launch(node, routes.url), host.launch(node, routes.url)])
      expect([first.state, second.state].sort()).toEqual(['already_hosted', 'launched'])
      expect(second.pid).toBe(first.pid)
      await host.halt(node, 0)
      await waitFor(() => node.binds.length > 0)
      process.kill(first.pid, 'SIGKILL')
      await waitFor(() => host.exits.length > 0)
      expect(await host.launch(node, routes.url)).toEqual({ state: 'already_hosted', pid: first.pid })
      expect(node.binds).toHaveLength(1)
    })

    it('refuses a generation that was overtaken, or ended before it came', async () => {
      await begin()
      const node = running()
      node.generation = 3
      await host.launch(node, routes.url)
      await expect(host.launch(node, routes.url, { generation: 2 })).rejects.toMatchObject({ code: 'stale_generation' })
      const other = running()
      await host.halt(other, 5)
      await expect(host.launch(other, routes.url, { generation: 5 })).rejects.toMatchObject({
        code: 'stale_generation',
      })
    })

    it('ends all that an older generation started before the next one starts', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      const first = await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      node.generation = 2
      node.post('go on')
      const second = await host.launch(node, routes.url)
      expect(second.pid).not.toBe(first.pid)
      expect(alive(first.pid)).toBe(false)
      await waitFor(() => node.binds.length === 2)
      expect(node.binds[1]?.pid).toBe(second.pid)
      // The program of the first generation is not run again by itself; only the new message starts it.
      await waitFor(() => node.entries('turn_started').length === 2)
      expect(node.entries('tool_ended')[0]).toMatchObject({ status: 'outcome_unknown' })
    })

    it('refuses more brokers than the cap', async () => {
      await begin({ SVC_BROKER_CAP: '1' })
      await host.launch(running(), routes.url)
      await expect(host.launch(running(), routes.url)).rejects.toMatchObject({
        code: 'quota_exceeded',
        fields: { cap: 1 },
      })
    })
  })

  describe('pool', () => {
    const finished = async (pool_key: string): Promise<number> => {
      const node = routes.node({})
      node.post('work')
      const { pid } = await host.launch(node, routes.url, { pool_key })
      await waitFor(() => node.ended)
      await waitFor(async () => (await host.report()).live === 0)
      return pid
    }

    it('reuses a process for the same principal and app only, and a bounded number of times', async () => {
      await begin({ SVC_BROKER_REUSE: '2' })
      const first = await finished('one')
      expect(await finished('two')).not.toBe(first)
      expect(await finished('one')).toBe(first)
      expect(await finished('one')).not.toBe(first)
    })

    it('takes no process back whose tools left something behind', async () => {
      await begin()
      const mark = word()
      const script = `setsid sleep 301 </dev/null >/dev/null 2>&1 & : ${mark}; echo ok`
      const node = routes.node({}, ({ step }) =>
        step === 1 ? [toolCall('c1', 'bash', { command: script })] : [text('done')],
      )
      node.post('work')
      await host.launch(node, routes.url)
      await waitFor(() => node.ended)
      await waitFor(async () => (await host.report()).live === 0)
      expect(named('sleep 301')).toEqual([])
    })

    it('lets neither a broker nor a program of its node leave its memory in a file', async () => {
      await begin()
      const node = routes.node({
        engine: 'exec',
        exec: { argv: ['bash', '-c', 'ulimit -c; ulimit -Hc'], stdin: 'text' },
      })
      node.post('go')
      await host.launch(node, routes.url)
      await waitFor(() => node.ended)
      expect(node.entries('tool_ended')[0]?.output).toBe('0\n0\n')
    })

    it('gives a broker nothing of the environment of the host', async () => {
      await begin()
      const node = routes.node({ engine: 'exec', exec: { argv: ['env'], stdin: 'text' } })
      node.post('go')
      const { pid } = await host.launch(node, routes.url)
      const broker = readFileSync(`/proc/${pid}/environ`, 'utf8')
      expect(broker).not.toMatch(/NATS_URL|sk-never-seen|SVC_DATA_DIR|SVC_TOKEN/)
      await waitFor(() => node.ended)
      const printed = node.entries('tool_ended')[0]?.output ?? ''
      expect(printed).not.toMatch(/NATS_URL|sk-never-seen|SVC_DATA_DIR/)
      // It has the token itself: only that is taken out of what it prints.
      expect(printed).toContain("SVC_TOKEN=[the node's token]")
    })
  })

  describe('stop', () => {
    it('answers when the whole tree is gone, with what left its session and ignores SIGTERM', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      expect(await host.halt(node)).toEqual({ stopped: true })
      expect(named(mark)).toEqual([])
      expect(await host.halt(node)).toEqual({ stopped: false })
      await waitFor(() => host.exits.length > 0)
      expect(host.exits[0]).toMatchObject({ node_id: node.id, generation: 1, clean: true })
    })
  })

  describe('a program that wiped its environment and left its parent and its session', () => {
    it('is gone when its node was stopped', async () => {
      await begin()
      const { mark, node } = await hunt()
      expect(await host.halt(node)).toEqual({ stopped: true })
      expect(named(mark)).toEqual([])
    })

    it('is gone when the end of its killed broker is told', async () => {
      await begin()
      const { mark, pid } = await hunt()
      process.kill(pid, 'SIGKILL')
      await waitFor(() => host.exits.length > 0)
      expect(named(mark)).toEqual([])
    })

    it('goes with a host that is killed', async () => {
      await begin()
      const { mark, pid } = await hunt()
      await host.kill('SIGKILL')
      await waitFor(() => !alive(pid) && named(mark).length === 0)
    })
  })

  describeWhere(canGroup(), 'control groups', 'the same program without a sandbox', () => {
    it('is gone when its node was stopped, and when the end of its killed broker is told', async () => {
      await begin({ SVC_SANDBOX: 'none' })
      const { mark, node } = await hunt()
      await host.halt(node)
      expect(named(mark)).toEqual([])
      const second = await hunt()
      process.kill(second.pid, 'SIGKILL')
      await waitFor(() => host.exits.some(({ pid }) => pid === second.pid))
      expect(named(second.mark)).toEqual([])
    })

    it('is ended by the next host, when its own was killed with its broker', async () => {
      await begin({ SVC_SANDBOX: 'none' })
      const { mark, pid } = await hunt()
      process.kill(pid, 'SIGSTOP')
      await host.kill('SIGKILL')
      process.kill(pid, 'SIGKILL')
      await waitFor(() => !alive(pid))
      expect(named(mark)).not.toEqual([])
      await host.startProcess()
      expect(named(mark)).toEqual([])
    })
  })

  describe('exits', () => {
    it('tells of a broker that was killed, once its tools are gone too', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      const { pid } = await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      process.kill(pid, 'SIGKILL')
      await waitFor(() => host.exits.length > 0)
      expect(named(mark)).toEqual([])
      expect(host.exits[0]).toMatchObject({ node_id: node.id, generation: 1, pid, signal: 'SIGKILL', clean: false })
    })

    it('keeps brokers and their work over a loss of the bus, and is heard again afterwards', async () => {
      await begin()
      const node = running()
      node.post('go')
      const { pid } = await host.launch(node, routes.url)
      await waitFor(() => node.binds.length === 1)
      await nats.restart()
      const { incarnation } = host.hellos[0]!
      const heard = host.hellos.length
      const hello = await waitFor(() => host.hellos.slice(heard).find(({ live }) => live === 1))
      expect(hello).toMatchObject({ incarnation, brokers: [{ node_id: node.id, generation: 1, pid }] })
      expect(alive(pid)).toBe(true)
    })
  })

  describe('life of the host', () => {
    it('ends what an earlier start left before it is heard of again', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      const { pid } = await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      // Paused, so that it can't clean up after its host itself.
      process.kill(pid, 'SIGSTOP')
      await host.kill('SIGKILL')
      expect(named(mark).length).toBeGreaterThanOrEqual(3)
      const before = host.hellos[0]!.incarnation
      await host.startProcess()
      expect(named(mark)).toEqual([])
      expect(alive(pid)).toBe(false)
      expect(host.hellos.at(-1)).toMatchObject({ live: 0, brokers: [] })
      expect(host.hellos.at(-1)!.incarnation).not.toBe(before)
    })

    it('takes its brokers and their tools along when it is killed', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      const { pid } = await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      await host.kill('SIGKILL')
      await waitFor(() => !alive(pid) && named(mark).length === 0)
    })

    it('ends every tree and tells of it before it ends by SIGTERM', async () => {
      await begin()
      const mark = word()
      const node = routes.node({ engine: 'exec', exec: { argv: escapee(mark), stdin: 'jsonl' } })
      node.post('go')
      await host.launch(node, routes.url)
      await waitFor(() => named(mark).length >= 3)
      await host.kill('SIGTERM')
      expect(named(mark)).toEqual([])
      expect(host.exits).toHaveLength(1)
    })
  })
})
