import { Client } from 'pg';
import { watchAnswer } from '../../answer-watch.js';
import { traceOf } from '../../session-traces.js';
import { ownTypes } from './own-types.js';

export interface SessionWatch {
  /** Told the words that leave something in the session; undefined where that is not the connection's alone. */
  readonly left?: ((words: string) => void) | undefined;
  /** Asks the server whether it is at work on a statement of that client's. Default: it cannot tell. */
  readonly isAtWork?: ((client: Client) => Promise<boolean | undefined>) | undefined;
  /** Told that the connection fell silent: others that are open may have as well. */
  readonly silent: () => void;
}

/**
 * Looks at what is said on a connection, whoever says it: tells what leaves something in its session, and cuts it when a statement
 * of the library's, which leaves nothing, is not answered.
 */
export function watchSession(client: Client, { left, isAtWork, silent }: SessionWatch): void {
  // Asked for by each statement: what traces statements may be loaded later.
  const { prototype } = Client as unknown as { prototype: { query(...call: unknown[]): unknown } };
  client.query = ((...call: unknown[]): unknown => {
    const { types } = (call[0] ?? {}) as { readonly types?: unknown };
    if (types === ownTypes) {
      return watchAnswer(prototype.query.apply(client, call) as Promise<unknown>, {
        isAtWork: async () => isAtWork?.(client),
        cut: (reason) => {
          silent();
          client.connection.stream.destroy(reason);
        },
      });
    }
    const words = left && traceOf(textOf(call[0]), 'postgres');
    if (words !== undefined) left?.(words);
    return prototype.query.apply(client, call);
  }) as Client['query'];
}

/** A text, a configuration of a query, or what a library has made to be sent. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text, cursor } = (query ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof text === 'string') return text;
  return cursor === undefined ? '' : textOf(cursor);
}
