import { describe } from '@jest/globals'
import { notApplicable, type Until } from './not-applicable.js'

const documents: Until = { operation: 'memory.list', why: 'documents and their privacy' }
const runs: Until = { operation: 'runs.start', why: 'applications: runs' }
const shares: Until = { operation: 'shares.create', why: 'applications: uploads and shares' }
const tools: Until = { operation: 'providers.tools', why: 'tool servers of providers' }

const each = (rules: readonly string[], until: Until): void => {
  for (const rule of rules) notApplicable(rule, until)
}

describe('the table of scopes', () => {
  each(['svc:llm gates starting a run'], runs)
  each(
    [
      "svc:memory:read:user gates reading the person's documents",
      "svc:memory:rw:user gates writing the person's documents, through `svc doc`",
      'svc:memory:read:user:<path> and svc:memory:rw:user:<path> gate what lies beneath the path, and nothing beside it',
      'svc:memory:manage:user is for every privacy level and every document',
      "svc:memory:read:app:<id> gates reading an app's documents",
      "svc:memory:rw:app:<id> gates writing an app's documents",
      'a suffix `:profile:<profile>` narrows to one profile of the app',
    ],
    documents,
  )
  each(
    [
      "svc:files:read:app:<id>:<dir> says which of an app's files a run may mount to read",
      "svc:files:rw:app:<id>:<dir> says which of an app's files a run may mount to write",
    ],
    runs,
  )
  each(["svc:files:share gates sharing files beyond the app's own space"], shares)
  each(["svc:conversations:read:app:<id> gates reading another app's conversations"], runs)
  each(['<provider>:<group> gates one tool group of a provider'], tools)
})

describe('rule 2', () => {
  each(["a run's `scopes` list must stay inside what its creator and grant hold"], runs)
})

describe('rules 3 to 7', () => {
  each(
    [
      'svc:memory:* is the scope family for document access; there is no separate memory store',
      "a node's own documents need no memory scope",
      "an app's documents need no memory scope for that app's own nodes",
      "an app's own server reads and writes that app's own document space freely",
      'client.memory is not scope-gated: an app sees public documents',
      'a grant holding svc:memory:manage:user also sees friends-level and private documents',
    ],
    documents,
  )
  each(
    [
      "a run with no scopes list reads and writes that app's own document space freely",
      "a run started with a scopes list needs svc:memory:read:app:<id> to read its own app's documents, delivery at boot included",
      'a run started with a scopes list needs svc:memory:rw:app:<id> to write or edit them',
      'a refused write answers scope_missing, naming the scope',
      'such a run still publishes its own reports with `svc push`',
      "such a run's promoted node still gets a roadmap, but cannot edit other documents",
    ],
    runs,
  )
})
