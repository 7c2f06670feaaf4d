import { Client } from 'pg';
import { traceOf } from '../../session-traces.js';
import { ownTypes } from './own-types.js';

/** Looks at what is said on a connection, whoever says it, and tells the words that leave something in its session. */
export function watchSession(client: Client, left: (words: string) => void): void {
  // Asked for by each statement: what traces statements may be loaded later.
  const { prototype } = Client as unknown as { prototype: { query(...call: unknown[]): unknown } };
  const send = (call: unknown[]): unknown => prototype.query.apply(client, call);
  const watched = (...call: unknown[]): unknown => {
    const words = traceOf(textOf(call[0]), 'postgres');
    if (words !== undefined) left(words);
    return send(call);
  };
  client.query = watched as Client['query'];
}

/** A text, a configuration of a query, or what a library has made to be sent. The library's own leave nothing. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text, types, cursor } = (query ?? {}) as Readonly<Record<string, unknown>>;
  if (types === ownTypes) return '';
  if (typeof text === 'string') return text;
  return cursor === undefined ? '' : textOf(cursor);
}
