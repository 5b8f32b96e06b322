import { z } from 'zod'
import { slug } from './common.schema.js'
import { operation } from './define.js'
import { credential, credentialInstall, llmAnswer, llmItem, llmRequest, modelConfig, modelConfigUpdate, readiness } from './model.schema.js'

const byProvider = z.strictObject({ provider: slug })
const owner = ['owner'] as const

export const modelOperations = [
  operation({
    name: 'models.credentials.list', kind: 'route', summary: 'List the installed credentials, without their material',
    service: 'models', method: 'GET', path: '/v1/model-auth', listeners: owner, gate: 'owner',
    response: z.object({ data: z.array(credential), next_cursor: z.null(), has_more: z.literal(false) }),
  }),
  operation({
    name: 'models.credentials.install', kind: 'route', summary: 'Install or replace the credential of a provider',
    service: 'models', method: 'PUT', path: '/v1/model-auth/{provider}', listeners: owner, gate: 'owner',
    params: byProvider, body: credentialInstall, response: credential, idempotency: 'natural', errors: ['not_found'],
  }),
  operation({
    name: 'models.credentials.remove', kind: 'route', summary: 'Remove the credential of a provider',
    service: 'models', method: 'DELETE', path: '/v1/model-auth/{provider}', listeners: owner, gate: 'owner',
    params: byProvider, status: 204, idempotency: 'natural', errors: ['not_found'],
  }),
  operation({
    name: 'models.readiness', kind: 'untyped', summary: 'Which providers and strengths can serve a call, and what is missing',
    service: 'models', method: 'GET', path: '/v1/model-auth/readiness', listeners: owner, gate: 'own', response: readiness,
  }),
  operation({
    name: 'models.config.update', kind: 'route', summary: 'Change providers, ladders, prices and limits; absent fields stay',
    service: 'models', method: 'PUT', path: '/v1/model-config', listeners: owner, gate: 'owner',
    body: modelConfigUpdate, response: modelConfig, idempotency: 'natural', errors: ['precondition_failed'],
  }),
  operation({
    name: 'models.config.retrieve', kind: 'untyped', summary: 'Read providers, ladders, prices and limits',
    service: 'models', method: 'GET', path: '/v1/model-config', listeners: owner, gate: 'owner', response: modelConfig,
  }),
  operation({
    name: 'llm.call', kind: 'untyped', summary: 'One model call, mediated by the daemon: JSON, or a stream by the Accept header',
    service: 'models', method: 'POST', path: '/v1/llm', listeners: owner, gate: 'svc:llm', bodyLimit: 7 * 1024 * 1024,
    body: llmRequest, response: llmAnswer, item: llmItem, answer: 'negotiated', timeout: 3_600_000,
    errors: ['model_error', 'model_not_found', 'model_not_configured', 'budget_exhausted'],
  }),
] as const
