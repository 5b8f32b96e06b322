import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Injectable } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { routes } from '#common/contract/index.js'
import { hasCode, isSvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { AuditScribe } from '../audit/audit.scribe.js'
import { ownError, problemOf } from './problem.js'

const patterns = routes.map(({ method, path = '' }) => ({
  method: method as string,
  form: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** Methods that the contract has for a path. */
export const methodsOf = (url: string): string[] => {
  const path = url.split('?', 1)[0] as string
  return patterns.filter(({ form }) => form.test(path)).map(({ method }) => method)
}

/** Every error of a request ends here, as a problem document. The cause of an unexpected one is in the log alone. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    @Inject(LOG) private readonly log: Logger,
    @Inject(AuditScribe) private readonly audit: AuditScribe,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp()
    this.answer(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>())
  }

  answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = ownError(thrown)
    if (!isSvcError(error) || error.code === 'internal') {
      this.log.error({ err: error, request_id: request.id, url: request.url.split('?', 1)[0] }, 'a request failed')
    }
    if (isSvcError(error)) this.audit.refused(request, error)
    if (reply.sent || reply.raw.headersSent) return
    const { status, headers, body } = problemOf(error, request.id)
    reply.headers(headers)
    if (hasCode(error, 'route_not_found')) {
      const methods = methodsOf(request.url)
      if (methods.length > 0) reply.header('allow', methods.join(', '))
    }
    // as bytes, since the framework would add a charset that this media type doesn't have
    reply.code(status).send(Buffer.from(JSON.stringify(body)))
  }
}
