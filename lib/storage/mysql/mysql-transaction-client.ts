import type { TarefaError } from '../../errors.js';
import type { Connection } from 'mysql2';
import type { PoolConnection as PromiseConnection } from 'mysql2/promise';
import { usedAfterEnd } from '../transaction-errors.js';

/** What would reach the server. */
const sending = new Set<string | symbol>([
  'query',
  'execute',
  'prepare',
  'beginTransaction',
  'commit',
  'rollback',
  'changeUser',
  'reset',
  'ping',
]);

/** Libraries give back what they have used, and the connection would go to another task in the middle of this one's transaction. */
const ending = new Set<string | symbol>(['release', 'end']);

/** Is told of the statements that a library sends. */
export interface ClientWatch {
  /** Of one whose rows are streamed nobody is told how it ends. */
  sent(text: string): void;
  /** Returns what has to be told how it ended. */
  begun(text: string): (error: unknown) => void;
}

type Callback = (...answer: unknown[]) => void;

/**
 * The driver's connection as a library takes it. It refuses statements when its handler has ended, because by then it may be
 * another attempt's; it tells what becomes of the others; and giving it back does nothing.
 */
export function handlerClient(
  connection: Connection,
  statements: ClientWatch,
  hasEnded: () => boolean,
  refusal: () => TarefaError = usedAfterEnd,
): PromiseConnection {
  const guarded: Connection = new Proxy(connection, {
    get: (target, name) => {
      // A connection that is in no pool has no method to give it back.
      if (ending.has(name)) return (...given: unknown[]): unknown => callbackOf(given)?.();
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || name === 'constructor') return value;
      // Its wrapper calls the guarded one.
      if (name === 'promise') return (): unknown => Reflect.apply(value, guarded, []);
      return (...given: unknown[]): unknown => {
        if (!sending.has(name)) return Reflect.apply(value, target, given) as unknown;
        if (hasEnded()) return refuse(given, refusal());
        return Reflect.apply(value, target, watched(String(name), given, statements)) as unknown;
      };
    },
  });
  // Giving it back does nothing, so it makes no difference whether it is of a pool.
  return guarded.promise() as unknown as PromiseConnection;
}

function callbackOf(given: readonly unknown[]): Callback | undefined {
  const last = given.at(-1);
  return typeof last === 'function' ? (last as Callback) : undefined;
}

/** As `mysql2` tells errors: to the callback. Without one there is nobody to tell but the caller. */
function refuse(given: readonly unknown[], error: TarefaError): void {
  const callback = callbackOf(given);
  if (!callback) throw error;
  callback(error);
}

/** The arguments of a call, with a callback that first notes how the statement ended. */
function watched(name: string, given: readonly unknown[], statements: ClientWatch): unknown[] {
  const [first] = given;
  const text = name === 'query' || name === 'execute' ? textOf(first) : name;
  const callback = callbackOf(given);
  if (!callback) {
    statements.sent(text);
    return [...given];
  }
  const ended = statements.begun(text);
  return [
    ...given.slice(0, -1),
    (error: unknown, ...answer: unknown[]): void => {
      ended(error);
      callback(error, ...answer);
    },
  ];
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const sql = (query as { readonly sql?: unknown } | null)?.sql;
  return typeof sql === 'string' ? sql : '';
}
