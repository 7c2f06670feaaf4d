import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpServer } from '@nestjs/common';

/** What is used of Fastify. */
interface FastifyLike {
  get(path: string, handler: (request: { raw: IncomingMessage }, reply: FastifyReplyLike) => void): unknown;
  /** Handles a request by whatever route fits it. */
  routing(request: IncomingMessage, response: ServerResponse): void;
}

interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/**
 * Fastify tells an address with a slash at its end from the one without, and Nest cannot name the former. A proxy may send
 * it: it is handled as the other one then, guards and all.
 *
 * @param path of the dashboard, with the application's prefix
 */
export function serveSlash(adapter: HttpServer | undefined, path: string): void {
  if (adapter?.getType() !== 'fastify') return;
  const fastify = adapter.getInstance() as FastifyLike;
  const own = `/${path.split('/').filter(Boolean).join('/')}`;
  fastify.get(`${own}/`, ({ raw }, reply) => {
    reply.hijack();
    raw.url = own + (raw.url ?? '').slice(own.length + 1);
    fastify.routing(raw, reply.raw);
  });
}
