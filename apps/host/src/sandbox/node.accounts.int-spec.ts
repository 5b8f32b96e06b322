import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { newId } from '#common/kernel/ids.js'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { NodeAccounts } from './node.accounts.js'
import { NodeDirectoryStore } from './node.directories.js'
import { TreeAccess } from './tree.access.js'

const isRoot = process.getuid?.() === 0
const hasLists = ((): boolean => {
  try {
    execFileSync('setfacl', ['--version'])
    return true
  } catch {
    return false
  }
})()
// Only root can give accounts away; elsewhere the level says that there is none.
describeWhere(isRoot && hasLists, 'root and setfacl', 'accounts of nodes', () => {
  let root: string
  let work: string
  let store: NodeDirectoryStore
  const nodeId = newId('node')

  const open = (to = 300_010, setfacl = 'setfacl') =>
    new NodeAccounts(join(root, 'data/accounts.json'), { from: 300_000, to }, new TreeAccess(systemClock, setfacl))
  const kept = () => JSON.parse(readFileSync(join(root, 'data/accounts.json'), 'utf8'))
  const prepare = async (accounts: NodeAccounts, id = nodeId, mode: 'read' | 'write' = 'write', path = work) =>
    accounts.prepare(id, await store.prepare(id, ''), [{ path, mode }], [])
  const as = (uid: number, script: string): string => {
    try {
      return execFileSync('sh', ['-c', script], {
        uid,
        gid: uid,
        cwd: '/',
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    } catch {
      return 'refused'
    }
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'svc-accounts-'))
    work = join(root, 'person/work')
    mkdirSync(join(work, 'deep'), { recursive: true })
    mkdirSync(join(root, 'data'), { mode: 0o700 })
    writeFileSync(join(work, 'deep/file'), 'text', { mode: 0o600 })
    writeFileSync(join(root, 'secret'), 'secret', { mode: 0o600 })
    for (const path of ['person', 'person/work', 'person/work/deep', 'person/work/deep/file']) {
      chownSync(join(root, path), 1000, 1000)
    }
    execFileSync('chmod', ['0700', join(root, 'person')])
    execFileSync('chmod', ['0711', root])
    store = new NodeDirectoryStore(join(root, 'data/nodes'), systemClock)
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('read and write the working directory and their own, and see nothing else', async () => {
    const { uid } = await prepare(open())
    expect(
      as(uid, `cat ${work}/deep/file && echo more >> ${work}/deep/file && echo new > ${work}/deep/new && echo ok`),
    ).toBe('textok\n')
    expect(as(uid, `echo x > ${store.of(nodeId).home}/f && echo x > ${store.of(nodeId).temporary}/f && echo ok`)).toBe(
      'ok\n',
    )
    for (const path of [join(root, 'secret'), join(root, 'data/accounts.json')])
      expect(as(uid, `cat ${path}`)).toBe('refused')
    expect(as(uid, `ls ${join(root, 'person')}`)).toBe('refused')
    expect(as(uid, `ls ${join(root, 'data')}`)).toBe('refused')
    // Whose the directory is keeps what the node makes.
    expect(as(1000, `echo mine >> ${work}/deep/new && echo ok`)).toBe('ok\n')
  })

  it('only read what is mounted for reading', async () => {
    const { uid } = await prepare(open(), nodeId, 'read')
    expect(as(uid, `cat ${work}/deep/file`)).toBe('text')
    expect(as(uid, `echo x >> ${work}/deep/file`)).toBe('refused')
    expect(as(uid, `echo x > ${work}/deep/new`)).toBe('refused')
  })

  it('are one for each node, also after a restart, and see nothing of each other', async () => {
    const first = await prepare(open())
    const other = newId('node')
    const accounts = open()
    const second = await prepare(accounts, other)
    expect(second.uid).not.toBe(first.uid)
    expect((await prepare(accounts)).uid).toBe(first.uid)
    expect(as(second.uid, `ls ${store.of(nodeId).home}`)).toBe('refused')
  })

  it('give nobody access to what a link in the tree leads to', async () => {
    symlinkSync(join(root, 'secret'), join(work, 'link'))
    symlinkSync(join(root, 'data'), join(work, 'deep/out'))
    const { uid } = await prepare(open())
    expect(as(uid, `cat ${work}/link`)).toBe('refused')
    expect(as(uid, `ls ${work}/deep/out`)).toBe('refused')
  })

  it('lose all that they had when they are released, and leave their files to whose the tree is', async () => {
    const accounts = open()
    const { uid } = await prepare(accounts)
    as(uid, `echo new > ${work}/deep/new`)
    await accounts.release(nodeId)
    expect(as(uid, `cat ${work}/deep/file`)).toBe('refused')
    expect(statSync(join(work, 'deep/new')).uid).toBe(1000)
    expect(execFileSync('getfacl', ['-R', '-n', join(root, 'person')], { encoding: 'utf8' })).not.toContain(String(uid))
    expect(kept()).toEqual({})
  })

  it('are given the whole of a tree after a kill in the middle of giving it', async () => {
    const trees = [{ path: work, mode: 'write', begun: true }]
    writeFileSync(join(root, 'data/accounts.json'), JSON.stringify({ [nodeId]: { uid: 300_000, trees, passages: [] } }))
    const { uid } = await prepare(open())
    expect(as(uid, `cat ${work}/deep/file`)).toBe('text')
    expect(kept()[nodeId].trees).toEqual([{ path: work, mode: 'write' }])
  })

  // Who could not be given a tree, and from whom it could not be taken back either, was forgotten with what was given.
  it('stay known until a tree is taken back that could be neither given nor taken back at once', async () => {
    const failing = join(root, 'setfacl')
    // Passages are opened; trees are not given.
    writeFileSync(failing, '#!/bin/sh\ncase "$2" in *:x) exec setfacl "$@" ;; esac\nexit 1\n', { mode: 0o755 })
    await expect(prepare(open(300_010, failing))).rejects.toMatchObject({ code: 'file_access_denied' })
    expect(kept()[nodeId].trees).toEqual([{ path: work, mode: 'write', begun: true }])
    await open().release(nodeId)
    expect(kept()).toEqual({})
  })

  it('are not more than the range holds', async () => {
    const accounts = open(300_000)
    await prepare(accounts)
    await expect(prepare(accounts, newId('node'))).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  it('say so where the file system has no access control lists', async () => {
    await expect(prepare(open(), nodeId, 'write', '/proc/sys/kernel')).rejects.toMatchObject({
      code: 'file_access_denied',
    })
  })
})
