import type { ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';

/** What Express and Fastify have in common. */
export interface DashboardRequest {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  /** Fastify's: the request of Node. */
  readonly raw?: { readonly socket?: { readonly remoteAddress?: string | undefined } };
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
