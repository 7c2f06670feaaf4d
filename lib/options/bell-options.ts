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

/** Where Redis is. Fields that are not named here are handed to the package `redis` as they are, but for reconnecting. */
export interface RedisBellOptions {
  /** Its address, which begins with `redis://`, or with `rediss://` for TLS; it may hold user and password. */
  readonly url?: string | undefined;
  /** A user of its access lists. Default: Redis' own. */
  readonly username?: string | undefined;
  /** The user's password, or that of all. */
  readonly password?: string | undefined;
  /** Host and port in place of `url`, and options of TLS. */
  readonly socket?: object | undefined;
  /**
   * The channel of the rings: the same in all processes of a queue, and of no other queue with a table of the same name. Default:
   * `tarefa.` and the queue's name.
   */
  readonly channel?: string | undefined;
}

/** Where NATS is. Fields that are not named here are handed to its package as they are, but for reconnecting. */
export interface NatsBellOptions {
  /** The address of one or more servers, such as `nats://10.0.0.5:4222`. */
  readonly servers: string | readonly string[];
  /** A user of its accounts. */
  readonly user?: string | undefined;
  /** The user's password. */
  readonly pass?: string | undefined;
  /** A token in place of user and password. */
  readonly token?: string | undefined;
  /** Options of TLS; an empty object asks for it. */
  readonly tls?: object | undefined;
  /**
   * The subject of the rings: the same in all processes of a queue, and of no other queue with a table of the same name. Default:
   * `tarefa.` and the queue's name.
   */
  readonly subject?: string | undefined;
}

/** What wakes the processes of a queue besides its database; made by {@link tcp}, {@link redis} or {@link nats}. */
export type QueueBell =
  | { readonly kind: 'tcp'; readonly options: TcpBellOptions }
  | { readonly kind: 'redis'; readonly options: RedisBellOptions }
  | { readonly kind: 'nats'; readonly options: NatsBellOptions };

/** Options of a package of others. */
type ClientOptions = Readonly<Record<string, unknown>>;

/** A {@link QueueBell} whose options are checked and complete. */
export type ResolvedBell =
  | ({ readonly kind: 'tcp' } & {
      readonly [Name in keyof TcpBellOptions]-?: NonNullable<TcpBellOptions[Name]>;
    })
  | { readonly kind: 'redis'; readonly channel: string; readonly client: ClientOptions }
  | { readonly kind: 'nats'; readonly subject: string; readonly client: ClientOptions };

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

/**
 * Wakes the processes of a queue through Redis, in which one channel is used and nothing is stored. Needs the package `redis`.
 *
 * @example
 * ```ts
 * const bell = redis({ url: 'rediss://10.0.0.5:6379', username: 'tarefa', password: process.env['REDIS_PASSWORD'] });
 * ```
 */
export function redis(
  options: RedisBellOptions | (RedisBellOptions & Readonly<Record<string, unknown>>),
): QueueBell {
  return { kind: 'redis', options };
}

/**
 * Wakes the processes of a queue through NATS, in which one subject is used and nothing is stored. Needs the package
 * `@nats-io/transport-node`.
 *
 * @example
 * ```ts
 * const bell = nats({ servers: ['nats://10.0.0.5:4222', 'nats://10.0.0.6:4222'], token: process.env['NATS_TOKEN'] });
 * ```
 */
export function nats(
  options: NatsBellOptions | (NatsBellOptions & Readonly<Record<string, unknown>>),
): QueueBell {
  return { kind: 'nats', options };
}

const ofTcp: Readonly<Record<keyof TcpBellOptions, true>> = {
  host: true,
  port: true,
  messageTimeoutMs: true,
};

/** Checks the option `bell`; undefined where the database alone wakes. */
export function resolveBell(
  given: QueueBell | undefined,
  queue: string,
  env: Environment,
  check: OptionCheck,
): ResolvedBell | undefined {
  if (given === undefined) return undefined;
  if (!Object.hasOwn(resolvers, given.kind) || typeof given.options !== 'object' || given.options === null) {
    check.mistake('bell must be created by tcp(), redis() or nats(), with an object of options');
    return undefined;
  }
  return Object.freeze(resolvers[given.kind](withoutUnset(given.options), { queue, env, check }));
}

interface Resolving {
  readonly queue: string;
  readonly env: Environment;
  readonly check: OptionCheck;
}

// Addresses are not shown: they may hold passwords.
const resolvers: {
  readonly [Kind in QueueBell['kind']]: (options: ClientOptions, resolving: Resolving) => ResolvedBell;
} = {
  tcp: (given, { env, check }) => {
    const options = given as TcpBellOptions;
    check.known(Object.keys(options), Object.keys(ofTcp), 'bell.');
    const host = options.host ?? (env['SERVER_HOST']?.trim() || '127.0.0.1');
    if (typeof host !== 'string' || host === '')
      check.mistake('bell.host must be an address, such as 127.0.0.1');
    return {
      kind: 'tcp',
      host,
      port: readAmount('bell.port', options.port, { ...lockPort, least: 1 }, env, check),
      messageTimeoutMs: readAmount(
        'bell.messageTimeoutMs',
        options.messageTimeoutMs,
        messageTimeout,
        env,
        check,
      ),
    };
  },
  redis: (options, { queue, check }) => {
    const { channel = `tarefa.${queue}`, ...client } = options;
    const { url, socket } = client;
    if (url === undefined && socket === undefined)
      check.mistake(
        'bell.url is missing: give redis() an address, such as redis://127.0.0.1:6379, or a socket',
      );
    if (url !== undefined && !(typeof url === 'string' && /^rediss?:\/\/./.test(url)))
      check.mistake('bell.url must begin with redis:// or rediss://');
    if (socket !== undefined && typeof socket !== 'object')
      check.mistake('bell.socket must be an object of options');
    if (typeof channel !== 'string' || channel === '') check.mistake('bell.channel must be text');
    return { kind: 'redis', channel: String(channel), client };
  },
  nats: (options, { queue, check }) => {
    const { subject = `tarefa.${queue.replaceAll(/[\s*>.]/g, '_')}`, ...client } = options;
    const { servers } = client;
    const all: readonly unknown[] = Array.isArray(servers) ? servers : [servers];
    if (all.length === 0 || !all.every((one) => typeof one === 'string' && one !== ''))
      check.mistake('bell.servers must be an address, such as nats://127.0.0.1:4222, or a list of them');
    if (!/^[^\s*>.]+(\.[^\s*>.]+)*$/.test(String(subject)))
      check.mistake('bell.subject must be words separated by dots, without spaces, * and >');
    return { kind: 'nats', subject: String(subject), client };
  },
};
