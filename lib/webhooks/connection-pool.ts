import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';

/** Opens a socket for the request that a connection serves at the moment. */
type Dial = () => Promise<Socket>;

/** How long an idle connection is kept, unless its server names a shorter time. */
const keepAliveMs = 4_000;

/** A connection to an origin, serving one request at a time: an agent of Node's with one socket. */
class Connection {
  readonly agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: keepAliveMs });
  /** Undefined before it is dialled. */
  socket: Socket | undefined;
  dial: Dial;

  /** @param onClosed its server closes it, or nobody uses it for long */
  constructor(
    readonly origin: string,
    dial: Dial,
    onClosed: (connection: Connection) => void,
  ) {
    this.dial = dial;
    const createConnection = (_options: unknown, callback: Dialled): void => {
      void this.#dial(onClosed, callback);
    };
    Object.assign(this.agent, { createConnection });
  }

  /** Tells Node, which takes no promise. */
  async #dial(onClosed: (connection: Connection) => void, callback: Dialled): Promise<void> {
    const [error, socket] = await this.dial().then(
      (dialled): Parameters<Dialled> => [null, dialled],
      (failed: unknown): Parameters<Dialled> => [failed as Error],
    );
    this.socket = socket?.once('close', () => onClosed(this));
    callback(error, socket);
  }
}

type Dialled = (error: Error | null, socket?: Socket) => void;

export type { Connection };

/**
 * Keeps connections open for the next request to the same origin, up to a number of idle ones: the one that was
 * used longest ago is closed for a new one. Each is on its own, so that a request which fails or gives up takes nobody else's
 * connection with it.
 */
export class ConnectionPool {
  readonly #mostIdle: number;
  readonly #open = new Set<Connection>();
  /** The one used longest ago first. */
  readonly #idle = new Set<Connection>();

  constructor(mostIdle: number) {
    this.#mostIdle = mostIdle;
  }

  /** An idle connection to the origin, or one that is opened when its request is sent. Give it back or discard it. */
  take(origin: string, dial: Dial): Connection {
    const idle = this.#takeIdle(origin);
    if (idle) {
      idle.dial = dial;
      return idle;
    }
    const connection = new Connection(origin, dial, (closed) => {
      if (this.#idle.has(closed)) this.discard(closed);
    });
    this.#open.add(connection);
    return connection;
  }

  giveBack(connection: Connection): void {
    if (!this.#open.has(connection)) return;
    if (connection.socket?.destroyed !== false) return this.discard(connection);
    this.#idle.add(connection);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= this.#mostIdle) return;
      this.discard(oldest);
    }
  }

  /** Closes a connection, whatever it is doing; a request on it fails. */
  discard(connection: Connection): void {
    this.#idle.delete(connection);
    if (this.#open.delete(connection)) connection.agent.destroy();
  }

  /** Closes all connections and waits until they are closed. */
  async close(): Promise<void> {
    const connections = [...this.#open];
    for (const connection of connections) this.discard(connection);
    const sockets = connections.flatMap(({ socket }) => (socket && !socket.closed ? [socket] : []));
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
  }

  #takeIdle(origin: string): Connection | undefined {
    let found: Connection | undefined;
    for (const connection of this.#idle) if (connection.origin === origin) found = connection;
    if (found) this.#idle.delete(found);
    return found;
  }
}
