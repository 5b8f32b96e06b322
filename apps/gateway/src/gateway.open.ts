import type { IncomingMessage } from 'node:http'
import type { DynamicModule, INestApplicationContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nestLog } from '#common/kernel/nest-log.js'
import type { ServiceSetup } from '#common/kernel/service.js'
import { AccessWatch } from './access/access.watch.js'
import { AllowedHosts } from './http/allowed.hosts.js'
import { AllowedOrigins } from './http/allowed.origins.js'
import { commonHeaders } from './http/common.headers.js'
import { edgeHook } from './http/edge.hook.js'
import { ProblemFilter } from './http/problem.filter.js'
import { requestIdOf } from './http/request.context.js'
import { stateOf } from './http/request.state.js'
import { GatewayListeners } from './listener/gateway.listeners.js'
import { OwnerToken } from './tokens/owner.token.js'

/**
 * Opens the gateway: resolves when its listeners answer.
 *
 * @throws Error when an address is taken or the token can't be made; nothing of it goes on then
 */
export const openGateway = async (module: DynamicModule, { log }: ServiceSetup): Promise<INestApplicationContext> => {
  let filter: ProblemFilter | undefined
  const adapter = new FastifyAdapter({
    logger: false,
    requestIdHeader: false,
    genReqId: (raw: IncomingMessage) => requestIdOf(raw.headers),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // an identifier of any length is the contract's to refuse
    routerOptions: { maxParamLength: 16 * 1024 },
    // only what fastify refuses before any hook or handler, such as an address that can't be decoded
    frameworkErrors: (error: unknown, request: unknown, reply: unknown) => {
      const { id } = request as FastifyRequest
      ;(reply as FastifyReply).headers({
        ...commonHeaders(stateOf(request as FastifyRequest).secure),
        'x-request-id': id,
      })
      filter?.answer(error, request as FastifyRequest, reply as FastifyReply)
    },
  })
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: nestLog(log),
    bodyParser: false,
    abortOnError: false,
  })
  try {
    const problems = app.get(ProblemFilter)
    filter = problems
    await begin(app, problems)
  } catch (error) {
    await app.close()
    throw error
  }
  const listeners = app.get(GatewayListeners)
  log.info({ ...listeners.addresses, socket: listeners.socketPath }, 'the gateway listens')
  return app
}

const begin = async (app: NestFastifyApplication, problems: ProblemFilter): Promise<void> => {
  const fastify = app.getHttpAdapter().getInstance()
  const listeners = app.get(GatewayListeners)
  app.useGlobalFilters(problems)
  // bodies are read after token and gate, by the dispatcher
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null))
  fastify.addHook(
    'onRequest',
    edgeHook({
      hosts: app.get(AllowedHosts),
      origins: app.get(AllowedOrigins),
      isDraining: () => listeners.draining,
    }),
  )
  await app.init()
  await fastify.ready()
  await app.get(OwnerToken).install()
  await listeners.open((request, response) => fastify.routing(request, response))
  await app.get(AccessWatch).start()
}
