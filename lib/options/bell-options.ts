import { withoutUnset } from '../values/without-unset.js';
import type { OptionCheck } from './option-check.js';
import { lockPort, messageTimeout, readAmount } from './variable-amount.js';
import type { Environment } from './variables.js';

/** Where the server is through which processes wake each other. */
export interface TcpBellOptions {
  /** Its address. Variable `SERVER_HOST`. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Its lock port. Variable `LOCK_SERVICE_PORT`. Default 8970. */
  readonly port?: number | undefined;
  /**
   * How long connecting, a message and an answer may take; the variable is in seconds. Variable `TIMEOUT_SOCKET_MESSAGE`.
   * Default 5000.
   */
  readonly messageTimeoutMs?: number | undefined;
}

/** What wakes the processes of a queue besides its database; made by {@link tcp}. */
export interface QueueBell {
  readonly kind: 'tcp';
  readonly options: TcpBellOptions;
}

/** The same, checked and complete. */
export type ResolvedBell = { readonly [Name in keyof TcpBellOptions]-?: NonNullable<TcpBellOptions[Name]> };

/**
 * Wakes the processes of a queue through the server that `npx tarefa server` is, or the option `server` of one of them: for
 * MySQL and MariaDB, and for PostgreSQL behind a pooler, which cannot be listened to. Rings may be lost: workers poll as well.
 *
 * @example
 * ```ts
 * QueueModule.forRoot({ connection: process.env['DATABASE_URL'], queue: 'orders', bell: tcp({ host: '10.0.0.5' }) });
 * ```
 */
export function tcp(options: TcpBellOptions = {}): QueueBell {
  return { kind: 'tcp', options };
}

const known: Readonly<Record<keyof TcpBellOptions, true>> = {
  host: true,
  port: true,
  messageTimeoutMs: true,
};

/** Checks the option `bell`; undefined where the database alone wakes. */
export function resolveBell(
  given: QueueBell | undefined,
  env: Environment,
  check: OptionCheck,
): ResolvedBell | undefined {
  if (given === undefined) return undefined;
  if (given.kind !== 'tcp' || typeof given.options !== 'object' || given.options === null) {
    check.mistake('bell must be made by tcp(), with an object of options or none');
    return undefined;
  }
  const options: TcpBellOptions = withoutUnset(given.options);
  check.known(Object.keys(options), Object.keys(known), 'bell.');
  const host = options.host ?? (env['SERVER_HOST']?.trim() || '127.0.0.1');
  if (typeof host !== 'string' || host === '')
    check.mistake('bell.host must be an address, such as 127.0.0.1');
  return Object.freeze({
    host,
    port: readAmount('bell.port', options.port, { ...lockPort, least: 1 }, env, check),
    messageTimeoutMs: readAmount(
      'bell.messageTimeoutMs',
      options.messageTimeoutMs,
      messageTimeout,
      env,
      check,
    ),
  });
}
