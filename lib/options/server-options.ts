import { isIP } from 'node:net';
import { withoutUnset } from '../values/without-unset.js';
import type { OptionCheck } from './option-check.js';
import { lockPort, messageTimeout, notifyPort, readAmount, type VariableAmount } from './variable-amount.js';
import type { Environment } from './variables.js';

/** How this process is the server of nsj-queue-lib's client-server mode. */
export interface ServerOptions {
  /**
   * Address that it listens on. One that other computers reach needs `allowUnauthenticated: true`. Default `127.0.0.1`.
   */
  readonly host?: string | undefined;
  /**
   * True: you know that whoever reaches the ports can wake workers and take the locks of tasks, because the wire has neither
   * authentication nor encryption. Default false.
   */
  readonly allowUnauthenticated?: boolean | undefined;
  /** Where workers wait for work; 0: any free port. Variable `NOTIFY_SERVICE_PORT`. Default 8770. */
  readonly notifyPort?: number | undefined;
  /** Where routines lock, and processes of this library ring; 0: any free port. Variable `LOCK_SERVICE_PORT`. Default 8970. */
  readonly lockPort?: number | undefined;
  /**
   * Workers that may be connected; the lock port takes four times as many connections. Variable `MAX_CLIENT_THREADS`.
   * Default 50.
   */
  readonly maxClients?: number | undefined;
  /** How often it looks for due tasks, for which nobody has rung; the variable is in seconds. Variable `CHECK_TASKS_INTERVAL`. Default 15000. */
  readonly checkIntervalMs?: number | undefined;
  /**
   * How long a connection to the lock port may say nothing while it neither holds a lock nor listens; the variable is in
   * seconds. Variable `LOCK_SERVICE_WAIT_CONN_INTERVAL`. Default 30000.
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * How long a message may take from its first byte to its last one, and a worker to answer that it is awake; the variable is
   * in seconds. Variable `TIMEOUT_SOCKET_MESSAGE`. Default 5000.
   */
  readonly messageTimeoutMs?: number | undefined;
}

/** {@link ServerOptions}, checked and complete. */
export type ResolvedServerOptions = {
  readonly [Name in Exclude<keyof ServerOptions, 'allowUnauthenticated'>]-?: NonNullable<ServerOptions[Name]>;
};

const amounts = {
  notifyPort,
  lockPort,
  maxClients: { variable: 'MAX_CLIENT_THREADS', unit: 1, default: 50, least: 1, most: 10_000 },
  checkIntervalMs: {
    variable: 'CHECK_TASKS_INTERVAL',
    unit: 1_000,
    default: 15_000,
    least: 10,
    most: 3_600_000,
  },
  idleTimeoutMs: {
    variable: 'LOCK_SERVICE_WAIT_CONN_INTERVAL',
    unit: 1_000,
    default: 30_000,
    least: 10,
    most: 86_400_000,
  },
  messageTimeoutMs: messageTimeout,
} as const satisfies { readonly [Name in keyof ServerOptions]: VariableAmount };
type AmountName = keyof typeof amounts;

const known: Readonly<Record<keyof ServerOptions, true>> = {
  host: true,
  allowUnauthenticated: true,
  notifyPort: true,
  lockPort: true,
  maxClients: true,
  checkIntervalMs: true,
  idleTimeoutMs: true,
  messageTimeoutMs: true,
};

/** Checks the option `server`; undefined where this process is none. */
export function resolveServer(
  given: boolean | ServerOptions | undefined,
  env: Environment,
  check: OptionCheck,
): ResolvedServerOptions | undefined {
  if (given === undefined || given === false) return undefined;
  if (given !== true && (typeof given !== 'object' || given === null || Array.isArray(given))) {
    check.mistake('server must be true, false or an object');
    return undefined;
  }
  const options: ServerOptions = given === true ? {} : withoutUnset(given);
  check.known(Object.keys(options), Object.keys(known), 'server.');
  const read = Object.fromEntries(
    (Object.keys(amounts) as readonly AmountName[]).map((name) => [
      name,
      readAmount(`server.${name}`, options[name], amounts[name], env, check),
    ]),
  ) as Record<AmountName, number>;
  if (read.notifyPort === read.lockPort && read.lockPort !== 0) {
    check.mistake(
      `server.notifyPort and server.lockPort are both ${read.lockPort}: they must be different ports`,
    );
  }
  return Object.freeze({ host: readHost(options, check), ...read });
}

/** True for an address that only this computer reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function readHost(
  { host = '127.0.0.1', allowUnauthenticated = false }: ServerOptions,
  check: OptionCheck,
): string {
  const isSaid = check.boolean('server.allowUnauthenticated', allowUnauthenticated);
  if (typeof host !== 'string' || host === '') {
    check.mistake('server.host must be an address, such as 127.0.0.1');
  } else if (!isLoopback(host) && !isSaid) {
    check.mistake(
      `server.host is ${JSON.stringify(host)}, which other computers can reach, and the protocol has neither authentication nor encryption: ` +
        'anyone who reaches the ports can wake workers and take the locks of tasks. Set server.allowUnauthenticated: true if a firewall lets ' +
        'only workers in',
    );
  }
  return host;
}
