import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpServer } from '@nestjs/common';

/** What is used of Fastify. */
interface FastifyLike {
  readonly initialConfig: SlashOption & { readonly routerOptions?: SlashOption };
  hasRoute(route: { method: string; url: string }): boolean;
  get(path: string, handler: (request: { raw: IncomingMessage }, reply: FastifyReplyLike) => void): unknown;
  /** Handles a request by whatever route fits it. */
  routing(request: IncomingMessage, response: ServerResponse): void;
}

interface SlashOption {
  readonly ignoreTrailingSlash?: boolean;
}

interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/**
 * Fastify tells an address with a slash at its end from the one without, and Nest cannot name the former. A proxy may send
 * it: it is handled as the other one then, guards and all. To be called when Nest has made its routes.
 *
 * @param prefix of the application; a path that it excludes is served without
 */
export function serveSlash(adapter: HttpServer | undefined, prefix: string, path: string): void {
  if (adapter?.getType() !== 'fastify') return;
  const fastify = adapter.getInstance() as FastifyLike;
  const { ignoreTrailingSlash, routerOptions } = fastify.initialConfig;
  if (routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash) return;
  const own = [`${prefix}/${path}`, path]
    .map((one) => `/${one.split('/').filter(Boolean).join('/')}`)
    .find((url) => fastify.hasRoute({ method: 'GET', url }));
  if (own === undefined) return;
  fastify.get(`${own}/`, ({ raw }, reply) => {
    reply.hijack();
    raw.url = own + (raw.url ?? '').slice(own.length + 1);
    fastify.routing(raw, reply.raw);
  });
}
