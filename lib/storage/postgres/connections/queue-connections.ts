import { Client, Pool, type ClientConfig } from 'pg';
import type { RingMessage } from '../../../coordination/ring.js';
import type { SessionUse } from '../../../coordination/session.js';
import type { PostgresSession } from './postgres-session.js';
import type { SharedSessions } from './shared-sessions.js';
import { TarefaError } from '../../../errors.js';
import type { QueueEvents } from '../../../events.js';
import type { ResolvedOptions } from '../../../options/resolve-options.js';
import { traceText } from '../../session-traces.js';
import { sharedText } from '../../pooling.js';
import type { StartPlace } from '../../start-problem.js';
import {
  connectionConfig,
  connectionKey,
  messageOf,
  sessionSettings,
  tableSettings,
  type Reach,
} from './connection-config.js';
import { startPlace } from './connection-problem.js';
import type { PostgresConnection } from '../../../options/postgres-connection.js';
import { noteBackend } from './backend.js';
import { ControlConnection, type ControlConnections } from './control-connection.js';
import { OwnPool, type SessionWatch, insertConnections, type InsertConnections } from './own-pool.js';
import { isAtWork } from './is-at-work.js';
import { inspectReach, processIdOf } from './pooler.js';
import { Sockets } from './sockets.js';

/** Which server each kind of connection reaches, and through what. */
export interface Routing {
  /** Of the pool: handlers' transactions, fan-out and inserts. */
  readonly main: PostgresConnection;
  readonly mainReach: Reach;
  /** Of LISTEN and session locks; undefined when there is no session to be had. */
  readonly session: PostgresConnection | undefined;
}

/** The connections of one queue. */
export interface QueueConnections extends InsertConnections {
  readonly routing: Routing;
  readonly pool: OwnPool;
  /** For inserts while handlers hold the whole pool; undefined in a process that only produces, as is `control`. */
  readonly spare: OwnPool | undefined;
  readonly control: ControlConnections | undefined;
  /** For people who look: neither do handlers wait for them, nor they for handlers. Opened at first use. */
  readonly onlookers: () => OwnPool;
  readonly closeOnlookers: () => Promise<void>;
  /** From now on new connections see what policies let this role see, and statements do not fail by them. */
  readonly heedPolicies: () => void;
  /** Of all connections but the session, which other queues may share. */
  readonly sockets: Sockets;
  /** False where no session can listen or hold locks. */
  readonly canListen: boolean;
  /** A hold on the process's session. */
  readonly sessionUse: () => SessionUse;
  /** Gives all holds back. */
  readonly closeSession: () => Promise<void>;
  /** Sends one notification by whatever connection is free. */
  readonly notify: (channel: string, message: RingMessage) => Promise<void>;
}

/** Tries what a start needs, as often as the options say. */
export interface StartAttempt {
  run<T>(place: StartPlace, work: () => Promise<T>): Promise<T>;
}

/**
 * Finds out what stands between us and the database.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` when the session connection cannot hold a session, `DATABASE_UNREACHABLE`,
 * `DATABASE_REFUSED`, `RIGHTS_MISSING`
 */
export async function resolveRouting(
  options: ResolvedOptions,
  main: PostgresConnection,
  starting: StartAttempt,
): Promise<Routing> {
  const inspect = (connection: PostgresConnection): Promise<Reach> =>
    starting.run(startPlace(connection), () => inspectReach(connection));
  const mainReach = await inspect(main);
  const { sessionConnection, worker } = options;
  if (!worker) return { main, mainReach, session: undefined };
  if (sessionConnection === undefined)
    return { main, mainReach, session: mainReach === 'direct' ? main : undefined };
  if ((await inspect(sessionConnection)) === 'shared') {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'sessionConnection goes through a pooler that hands out server connections by transaction, so LISTEN and session ' +
        'locks do not work there: give the address of PostgreSQL itself, or of a pooler in session mode',
    );
  }
  return { main, mainReach, session: sessionConnection };
}

/** Prepares a queue's connections; each is opened when it is needed. */
export function openConnections(
  options: ResolvedOptions,
  routing: Routing,
  sessions: SharedSessions,
  events: QueueEvents,
): QueueConnections {
  const { main, mainReach, session: sessionAddress } = routing;
  // It claims best where plans and settings stay, which no pooler in between allows.
  const controlAddress = mainReach === 'direct' ? main : (sessionAddress ?? main);
  const sockets = new Sockets();
  const named = (connection: PostgresConnection, purpose: string): ClientConfig => ({
    stream: sockets.open,
    ...connectionConfig(connection),
    application_name: `tarefa ${options.queue} ${purpose}`.slice(0, 63),
  });
  let settings = tableSettings;
  let onlookers: OwnPool | undefined;
  const renew = (): void => {
    for (const one of [pool, spare, onlookers]) one?.renew();
  };
  const open = (purpose: string, max: number): OwnPool =>
    openPool(named(main, purpose), {
      max,
      reach: mainReach,
      settings: () => settings,
      events,
      renew,
      // The looks of a worker find out by themselves, every few seconds.
      maxAgeMs: options.worker ? undefined : mostAgeMs,
    });
  const pool = open('pool', options.poolSize);
  // Handlers may hold every connection of the pool and wait for an insert of theirs, which must not wait for them.
  const spare = options.worker ? open('spare', 1) : undefined;

  const control = (connection: string): ControlConnection =>
    new ControlConnection(
      named(controlAddress, connection),
      {
        lost: (error) => events.emit('connection.lost', { connection, error }),
        restored: () => events.emit('connection.restored', { connection }),
        refused: renew,
      },
      controlAddress === main ? mainReach : 'direct',
    );

  const controls: ControlConnections | undefined = options.worker
    ? { first: control('control'), second: control('control 2') }
    : undefined;

  /** Shared by all who use it: any of them sends notifications. */
  let session: PostgresSession | undefined;
  const uses = new Set<SessionUse>();
  const listenerAddress = sessionAddress ?? (mainReach === 'direct' ? main : options.sessionConnection);
  const sharedSession = (): { key: string; config: ClientConfig } => {
    if (listenerAddress === undefined) throw new Error('there is no connection for a session');
    const config = { ...connectionConfig(listenerAddress), application_name: 'tarefa session' };
    return { key: connectionKey(listenerAddress), config };
  };
  return {
    routing,
    pool,
    spare,
    sockets,
    onlookers: () => (onlookers ??= open('dashboard', 2)),
    closeOnlookers: async () => onlookers?.end(),
    heedPolicies: () => (settings = sessionSettings),
    control: controls,
    ...insertConnections(pool, spare, mainReach),
    canListen: listenerAddress !== undefined,
    sessionUse: () => {
      const use: SessionUse = {
        open: async () => {
          const { key, config } = sharedSession();
          session = await sessions.open(key, config);
          uses.add(use);
          return session;
        },
        close: async () => {
          if (!uses.delete(use)) return;
          if (uses.size === 0) session = undefined;
          await sessions.close(sharedSession().key);
        },
      };
      return use;
    },
    closeSession: async () => {
      await Promise.all([...uses].map((use) => use.close()));
    },
    notify: async (channel, { text, dueMs, agoMs }) => {
      const values = [channel, text, dueMs ?? null, agoMs ?? null];
      // By the session where there is one: handlers may hold every connection of the pool.
      if (session?.up) await session.query(notifyStatement, values);
      else await pool.query(notifyStatement, values);
    },
  };
}

/** Parameters: channel, text, `dueMs`, `agoMs`. */
const notifyStatement = `select pg_notify($1::text, coalesce(round((least($3::float8,
  extract(epoch from clock_timestamp())::float8 * 1000 - $4::float8) / 1000)::numeric, 3) || ' ', '') || $2::text)`;

/**
 * How long an idle connection of a pool is kept: longer than the pause between two writes of the history,
 * so that a queue with little to do opens none for each of them.
 */
const idleMs = 30_000;

/**
 * How old a connection of a pool may become in a process without a worker. A server that another one has replaced goes on answering
 * whoever only reads.
 */
const mostAgeMs = 60_000;

interface PoolRequest {
  readonly max: number;
  readonly reach: Reach;
  /** Of every new connection. */
  readonly settings: () => string;
  readonly events: QueueEvents;
  /** How old a connection may become; undefined for what its configuration says. */
  readonly maxAgeMs: number | undefined;
  /** Told that one of its connections fell silent, or is to a server that only reads: so may be others, of other pools as well. */
  readonly renew: () => void;
}

/** Opening a connection has a limit, waiting for a free one has none. */
function openPool(
  config: ClientConfig,
  { max, reach, settings, events, renew, maxAgeMs }: PoolRequest,
): OwnPool {
  class PoolConnection extends Client {
    constructor() {
      super({ ...config, pipeline: true });
    }
  }
  const pool = new Pool({
    ...config,
    max,
    idleTimeoutMillis: idleMs,
    connectionTimeoutMillis: 0,
    Client: PoolConnection,
  });
  // A server that goes takes all idle ones along, and one that is full refuses many: one line for all of them.
  const said = { lost: false, shared: false, left: false };
  pool.on('connect', (client) => {
    said.lost = false;
    said.shared = false;
    if (reach !== 'direct') return;
    // Sent before whatever the connection was opened for; should it fail, that fails as well.
    void client.query(settings()).catch(() => undefined);
    void noteBackend(client);
  });
  pool.on('error', ({ message }) => {
    if (said.lost) return;
    said.lost = true;
    events.emit('notice', {
      message: `idle connections were lost (${message}); new ones are opened when needed`,
    });
  });
  const shared = (error: unknown, others: number): void => {
    if (said.shared) return;
    said.shared = true;
    events.emit('warning', { message: sharedText(messageOf(error), others) });
  };
  const left = (words: string): void => {
    if (!said.left) events.emit('warning', { message: traceText(words) });
    said.left = true;
  };
  // Behind a pooler the session is somebody else's by then, and its process id is made up.
  const watch: SessionWatch =
    reach === 'direct'
      ? { silent: renew, left, isAtWork: (client) => isAtWork(config, processIdOf(client)) }
      : { silent: renew };
  return new OwnPool(pool, { shared, watch, refused: renew, maxAgeMs });
}
