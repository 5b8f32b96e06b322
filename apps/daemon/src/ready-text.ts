import { version } from '#common/kernel/version.js'

export interface Ready {
  base_url: string
  tookMs: number
  dataDir: string
  /** Whether the host of this machine was heard. */
  heard: boolean
}

/** The first line is the one that scripts may wait for; what follows is the next step. */
export function readyText({ base_url, tookMs, dataDir, heard }: Ready): string {
  return [
    `svc ${version} is ready: ${base_url} (${(tookMs / 1000).toFixed(1)} s, data in ${dataDir})`,
    ...(heard ? [] : ['  its host is not heard yet, and nodes wait for it:  svc sys status  shows when it is there']),
    '  a first node, without a model:  svc node new --engine exec -- ls -la',
    '  add a model:                    svc model add openai --key-file <file>   (or: svc model add ollama …)',
    '  stop:                           Ctrl-C or svc sys down; running nodes go on unless you add --nodes',
    '',
  ].join('\n')
}
