import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { openDaemonLog } from './daemon-log.js'

describe('the log of the daemon', () => {
  // The record of an error threw in turn when the disk was full: nobody caught that, and the whole daemon ended.
  it('on a full disk costs records, not whoever logs', () => {
    const data = openDataDirectory(mkdtempSync(join(tmpdir(), 'svc-log-')))
    try {
      symlinkSync('/dev/full', join(data.log, 'daemon.log'))
      const log = openDaemonLog(data, 'info')
      expect(() => log.error('the disk is full')).not.toThrow()
    } finally {
      rmSync(data.path, { recursive: true })
    }
  })
})
