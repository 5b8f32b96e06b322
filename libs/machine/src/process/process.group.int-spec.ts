import { type ChildProcess, spawn } from 'node:child_process'
import { afterEach, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { waitFor } from '#common/testing/wait-for.js'
import { canGroup, endGroups, ProcessGroup } from './process.group.js'
import { readProcesses } from './process-table.js'

describeWhere(canGroup(), 'control groups', 'a control group', () => {
  let child: ChildProcess
  const environments = (word: string): number[] =>
    readProcesses().flatMap((row) => (row.environment().includes(`FUGITIVE=${word}`) ? [row.pid] : []))
  /** Starts somebody away from all that would find him, once it is told to. */
  const begin = (word: string): number => {
    const away = `env -i PATH="$PATH" FUGITIVE=${word} setsid bash -c '(setsid sleep 300 &); exit'`
    child = spawn('bash', ['-c', `read -r line; ${away}; sleep 300`], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    return child.pid as number
  }
  afterEach(() => {
    child.kill('SIGKILL')
  })

  it('ends with all that its process started, wherever that went', async () => {
    const word = `group-${process.pid}`
    const group = ProcessGroup.around(begin(word))
    await group.joined
    child.stdin?.end('go\n')
    await waitFor(() => environments(word).length > 0)
    await group.end()
    expect(environments(word)).toEqual([])
    await group.end()
  })

  it('is found again by the pid of its process, when whoever made it is gone', async () => {
    const word = `group-${process.pid}-left`
    const pid = begin(word)
    await ProcessGroup.around(pid).joined
    child.stdin?.end('go\n')
    await waitFor(() => environments(word).length > 0)
    await endGroups((one) => one === pid)
    expect(environments(word)).toEqual([])
  })

  it('of a process that is gone holds nobody', async () => {
    const pid = begin('none')
    child.kill('SIGKILL')
    await waitFor(() => child.signalCode)
    await ProcessGroup.around(pid).end()
  })
})
