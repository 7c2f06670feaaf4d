import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpServer } from '@nestjs/common';
import { keepBodyUnread } from './request-body.js';

/** What is used of Fastify. */
interface FastifyLike {
  readonly initialConfig: SlashOption & { readonly routerOptions?: SlashOption };
  hasRoute(route: { method: string; url: string }): boolean;
  get(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => void): unknown;
  addHook(
    event: 'onRequest',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, next: () => void) => void,
  ): unknown;
  /** Handles a request by whatever route fits it. */
  routing(request: IncomingMessage, response: ServerResponse): void;
}

interface SlashOption {
  readonly ignoreTrailingSlash?: boolean;
}

interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  /** The route that fits it, as it was registered. */
  readonly routeOptions: { readonly url?: string | undefined };
}

interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/**
 * Serves with Fastify what Nest cannot say to it. To be called when Nest has made its routes.
 *
 * @param prefix of the application; a path that it excludes is served without
 * @param path of the dashboard
 */
export function adaptFastify(adapter: HttpServer | undefined, prefix: string, path: string): void {
  if (adapter?.getType() !== 'fastify') return;
  const fastify = adapter.getInstance() as FastifyLike;
  const own = [`${prefix}/${path}`, path]
    .map((one) => `/${one.split('/').filter(Boolean).join('/')}`)
    .find((url) => fastify.hasRoute({ method: 'GET', url }));
  if (own === undefined) return;
  keepBodiesUnread(fastify, own);
  serveSlash(fastify, own);
}

/** By a hook: a middleware of Nest 11.0 on a path with a parameter that a prefix excludes keeps the application from starting. */
function keepBodiesUnread(fastify: FastifyLike, own: string): void {
  const actions = `${own}/api/actions/`;
  fastify.addHook('onRequest', ({ raw, routeOptions }, _reply, next) => {
    if (routeOptions.url?.startsWith(actions)) keepBodyUnread(raw);
    next();
  });
}

/**
 * Fastify tells an address with a slash at its end from the one without, and Nest cannot name the former. A proxy may send
 * it: it is handled as the other one then, guards and all.
 */
function serveSlash(fastify: FastifyLike, own: string): void {
  const { ignoreTrailingSlash, routerOptions } = fastify.initialConfig;
  if (routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash) return;
  fastify.get(`${own}/`, ({ raw }, reply) => {
    reply.hijack();
    raw.url = own + (raw.url ?? '').slice(own.length + 1);
    fastify.routing(raw, reply.raw);
  });
}
