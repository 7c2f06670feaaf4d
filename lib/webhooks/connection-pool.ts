import type { Socket } from 'node:net';
import type { Client } from 'undici';
import type { Undici } from './undici-package.js';

/** Opens a socket for the request that a connection serves at the moment. */
type Dial = () => Promise<Socket>;

/** How long an idle connection is kept when its server names no time. */
const keepAliveMs = 4_000;
const longestKeepAliveMs = 60_000;
/** Bytes of an answer's header fields. */
const mostHeaderBytes = 16_384;

/** A connection to an origin, serving one request at a time. */
export interface Connection {
  readonly origin: string;
  readonly client: Client;
}

/**
 * Keeps connections open for the next request to the same origin, up to a number of idle ones: the one that was
 * used longest ago is closed for a new one. Each is an undici `Client` of its own, so that a request which fails
 * or gives up takes nobody else's connection with it.
 */
export class ConnectionPool {
  readonly #undici: Undici;
  readonly #mostIdle: number;
  /** Dials for the request in progress. */
  readonly #dials = new WeakMap<Client, Dial>();
  readonly #open = new Set<Connection>();
  /** The one used longest ago first. */
  readonly #idle = new Set<Connection>();

  constructor(undici: Undici, mostIdle: number) {
    this.#undici = undici;
    this.#mostIdle = mostIdle;
  }

  /** An idle connection to the origin, or one that is opened when its request is sent. Give it back or discard it. */
  take(origin: string, dial: Dial): Connection {
    const connection = this.#takeIdle(origin) ?? this.#create(origin);
    this.#dials.set(connection.client, dial);
    return connection;
  }

  giveBack(connection: Connection): void {
    if (!this.#open.has(connection)) return;
    this.#idle.add(connection);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= this.#mostIdle) return;
      this.discard(oldest);
    }
  }

  /** Closes a connection, whatever it is doing; a request on it fails with that error. */
  discard(connection: Connection, error: Error | null = null): void {
    this.#idle.delete(connection);
    if (this.#open.delete(connection)) connection.client.destroy(error, () => undefined);
  }

  /** Closes all connections and waits until they are closed. */
  async close(): Promise<void> {
    const clients = [...this.#open].map(({ client }) => client);
    this.#open.clear();
    this.#idle.clear();
    await Promise.all(clients.map((client) => client.destroy()));
  }

  #takeIdle(origin: string): Connection | undefined {
    let found: Connection | undefined;
    for (const connection of this.#idle) if (connection.origin === origin) found = connection;
    if (found) this.#idle.delete(found);
    return found;
  }

  #create(origin: string): Connection {
    const client = new this.#undici.Client(origin, {
      // The deadline over all of a request is the caller's.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: mostHeaderBytes,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: longestKeepAliveMs,
      pipelining: 1,
      allowH2: false,
      connect: (_options, callback) => {
        const dial = this.#dials.get(client) ?? noRequest;
        void answer(dial(), callback);
      },
    });
    const connection = { origin, client };
    this.#open.add(connection);
    // An idle connection that its server closed, or that was not used for long.
    client.on('disconnect', () => {
      if (this.#idle.has(connection)) this.discard(connection);
    });
    return connection;
  }
}

/** Tells undici, which takes no promise. */
async function answer(
  dialling: Promise<Socket>,
  callback: (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void,
): Promise<void> {
  const result = await dialling.then(
    (socket): [null, Socket] => [null, socket],
    (error: unknown): [Error, null] => [error as Error, null],
  );
  callback(...result);
}

function noRequest(): Promise<Socket> {
  return Promise.reject(new Error('there is no request to connect for'));
}
