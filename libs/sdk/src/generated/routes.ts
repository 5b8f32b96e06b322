// Made from the contract by `npm run gen`. Do not edit.

import type { Route } from '../route.js'

/** Every route with a typed method, by the method's name. */
export const routes = {
  'system.status': { method: 'GET', path: '/v1/status' },
  'system.health': { method: 'GET', path: '/healthz' },
  'health.get': { method: 'GET', path: '/v1/health' },
  'nodes.create': { method: 'POST', path: '/v1/nodes' },
  'nodes.retrieve': { method: 'GET', path: '/v1/nodes/{id}', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.list': { method: 'GET', path: '/v1/nodes' },
  'nodes.message': { method: 'POST', path: '/v1/nodes/{id}/message', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.interrupt': { method: 'POST', path: '/v1/nodes/{id}/interrupt', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.cancel': { method: 'POST', path: '/v1/nodes/{id}/cancel', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.outcome': { method: 'GET', path: '/v1/nodes/{id}/outcome', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.result.submit': { method: 'POST', path: '/v1/nodes/{id}/result', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.reports.list': { method: 'GET', path: '/v1/nodes/{id}/reports', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.events': { method: 'GET', path: '/v1/nodes/{id}/events', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.stream': { method: 'GET', path: '/v1/nodes/{id}/stream', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'profiles.ensure': { method: 'PUT', path: '/v1/profiles/{name}' },
  'profiles.retrieve': { method: 'GET', path: '/v1/profiles/{name}' },
  'canvas.roster': { method: 'GET', path: '/v1/canvas/roster' },
  'canvas.snapshot': { method: 'GET', path: '/v1/canvas/snapshot' },
  'canvas.attention': { method: 'GET', path: '/v1/canvas/attention' },
  'canvas.attentionCounts': { method: 'POST', path: '/v1/canvas/attention/counts' },
  'canvas.prune': { method: 'POST', path: '/v1/canvas/prune' },
  'canvas.history.search': { method: 'POST', path: '/v1/canvas/history/search' },
  'canvas.history.grep': { method: 'POST', path: '/v1/canvas/history/grep' },
  'canvas.history.read': { method: 'GET', path: '/v1/canvas/history/read' },
  'canvas.history.stats': { method: 'POST', path: '/v1/canvas/history/stats' },
  'nodes.jobs.list': { method: 'GET', path: '/v1/nodes/{id}/jobs', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.jobs.cancel': { method: 'POST', path: '/v1/nodes/{id}/jobs/{job_id}/cancel', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/, job_id: /^job_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.worktree.close': { method: 'POST', path: '/v1/nodes/{id}/worktree/close', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'nodes.worktree.abandon': { method: 'POST', path: '/v1/nodes/{id}/worktree/abandon', checked: { id: /^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/ } },
  'files.read': { method: 'GET', path: '/v1/files/peek' },
  'files.write': { method: 'POST', path: '/v1/files/write' },
  'files.list': { method: 'GET', path: '/v1/files/list' },
  'bash.run': { method: 'POST', path: '/v1/bash' },
  'models.credentials.list': { method: 'GET', path: '/v1/model-auth' },
  'models.credentials.install': { method: 'PUT', path: '/v1/model-auth/{provider}', checked: { provider: /^[a-z0-9][a-z0-9_.-]{0,63}$/ } },
  'models.credentials.remove': { method: 'DELETE', path: '/v1/model-auth/{provider}', checked: { provider: /^[a-z0-9][a-z0-9_.-]{0,63}$/ } },
  'models.config.update': { method: 'PUT', path: '/v1/model-config' },
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
