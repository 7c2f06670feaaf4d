import type { ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Query } from './read-filter.js';

/** What Express and Fastify have in common. */
export interface DashboardRequest {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  /** Parts of the path that the route names. Pipes of the application do not reach them here. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** What a body parser made of the body; undefined where none did. */
  readonly body?: unknown;
  /** Nest's, of applications with `rawBody: true`. */
  readonly rawBody?: Buffer;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  /** Fastify's: the request of Node. */
  readonly raw?: { readonly socket?: { readonly remoteAddress?: string | undefined } };
}

/** What answers of Express and Fastify have in common. */
export interface Answer {
  header(name: string, value: string): unknown;
  getHeader(name: string): unknown;
  getHeaders(): OutgoingHttpHeaders;
  /** Fastify's: the answer of Node. Express adds to that. */
  readonly raw?: ServerResponse;
  /** Fastify's: it leaves the answer of Node alone from now on. */
  hijack?(): unknown;
}

/** The request that a guard is asked about. */
export function requestOf(context: ExecutionContext): DashboardRequest {
  return context.switchToHttp().getRequest<DashboardRequest>();
}

/** The first of a header's values. */
export function headerOf({ headers }: DashboardRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * The host that was asked for, as it came: `request.host` of Express and Fastify may be what a proxy, or a client that plays one,
 * says it was (`trust proxy`).
 */
export function hostOf(request: DashboardRequest): string {
  return headerOf(request, ':authority') ?? headerOf(request, 'host') ?? '';
}

/** The address at the other end of the connection, whatever `trust proxy` makes of it. */
export function remoteAddressOf({ raw, socket }: DashboardRequest): string | undefined {
  return (raw?.socket ?? socket)?.remoteAddress;
}
