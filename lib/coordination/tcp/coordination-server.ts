import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { readCall, type Call, type SentRing } from './calls.js';
import { HeldLocks } from './held-locks.js';
import { NotifiedWorker } from './notified-worker.js';
import { Peer } from './peer.js';

export interface CoordinationServerParts {
  /** Address of both ports. */
  readonly host: string;
  /** Where workers wait for work; 0: any free port. */
  readonly notifyPort: number;
  /** Where routines lock, and processes of this library ring; 0: any free port. */
  readonly lockPort: number;
  /** Workers that may be connected. Each may have {@link locksPerWorker} more connections to the lock port. */
  readonly maxClients: number;
  /** How long a message may take, and the answer to NOTIFY. */
  readonly messageTimeoutMs: number;
  /** How long a connection to the lock port may say nothing while it neither holds a lock nor listens. */
  readonly idleTimeoutMs: number;
  /**
   * Whether locks are given at all: asked for each one that is free. Never rejects.
   *
   * @param joined workers of this library that lock here what they run
   */
  readonly mayLock: (joined: ReadonlySet<string>) => Promise<boolean>;
  /** Rings for tasks of this queue wake the workers that wait. */
  readonly queue: string;
  /** Takes what people should know: of clients that were refused or cut. */
  readonly report: (message: string) => void;
}

/** A worker of nsj-queue-lib has three routines, one of this library rings and listens. */
const locksPerWorker = 4;
/** Locks of one client. */
const mostLocks = 10_000;
/** Calls of one client that have no answer yet: nobody needs more than one. */
const mostUnanswered = 10_000;
/** How often clients that are refused or cut are told of: there may be many. */
const tellAgainMs = 60_000;

/** What the server knows of a connection. */
interface Client {
  readonly peer: Peer;
  /** Undefined on the lock port. */
  readonly worker: NotifiedWorker | undefined;
  /** The worker of this library that locks here what it runs. */
  joinedAs: string | undefined;
  /** The queue whose rings it hears. */
  listensTo: string | undefined;
  idle: NodeJS.Timeout | undefined;
  unanswered: number;
  /** Resolves when all calls so far are answered, each after those before it. */
  answered: Promise<void>;
}

/**
 * The server of nsj-queue-lib's client-server mode: it wakes workers and keeps their locks, on one port each. A lock belongs to the
 * connection that took it and goes with it. Processes of this library ring and hear each other through it as well. The wire has no
 * authentication: whoever can connect can take locks and ring.
 */
export class CoordinationServer {
  readonly #parts: CoordinationServerParts;
  readonly #clients = new Set<Client>();
  readonly #locks = new HeldLocks<Client>();
  readonly #servers: Server[] = [];
  #toldAt = -Infinity;

  private constructor(parts: CoordinationServerParts) {
    this.#parts = parts;
  }

  /** Listens on both ports. Rejects, with nothing left open, where one of them cannot be had. */
  static async start(parts: CoordinationServerParts): Promise<CoordinationServer> {
    const server = new CoordinationServer(parts);
    const { notifyPort, lockPort, maxClients } = parts;
    try {
      await server.#listen(notifyPort, maxClients, (socket) => server.#acceptWorker(socket));
      await server.#listen(lockPort, maxClients * locksPerWorker, (socket) => server.#acceptLocker(socket));
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  get notifyPort(): number {
    return this.#portOf(0);
  }

  get lockPort(): number {
    return this.#portOf(1);
  }

  /** There may be something to do: all workers that wait are told now, those that work when they have ended. */
  wake(): void {
    for (const { worker } of this.#clients) worker?.wake();
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const { peer } of this.#clients) peer.close('the server was closed');
    await Promise.all(closed);
  }

  #portOf(index: number): number {
    return (this.#servers[index]?.address() as AddressInfo | null | undefined)?.port ?? 0;
  }

  #listen(port: number, most: number, accept: (socket: Socket) => void): Promise<void> {
    const server = createServer(accept);
    server.maxConnections = most;
    server.on('drop', (dropped) =>
      this.#tell(
        `refused a client from ${dropped?.remoteAddress ?? '?'}: ${most} clients are connected to port ${dropped?.localPort ?? port}, the most that maxClients ` +
          `(${this.#parts.maxClients}) allows there`,
      ),
    );
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.#parts.host, port }, () => {
        server.off('error', reject);
        // Such as too many open files: those that are connected stay.
        server.on('error', (error) => this.#tell(`a client could not connect: ${error.message}`));
        resolve();
      });
    });
  }

  #acceptWorker(socket: Socket): void {
    const { messageTimeoutMs } = this.#parts;
    this.#accept(socket, (peer) => new NotifiedWorker(peer, messageTimeoutMs));
  }

  #acceptLocker(socket: Socket): void {
    this.#watchIdle(this.#accept(socket, () => undefined));
  }

  #accept(socket: Socket, workerOf: (peer: Peer) => NotifiedWorker | undefined): Client {
    const { messageTimeoutMs } = this.#parts;
    const peer = new Peer(
      socket,
      messageTimeoutMs,
      (message) => this.#received(client, message),
      (why, isFault) => {
        this.#forget(client);
        if (isFault) this.#tell(`cut the connection of ${peer.address}: ${why}`);
      },
    );
    const client: Client = {
      peer,
      worker: workerOf(peer),
      joinedAs: undefined,
      listensTo: undefined,
      idle: undefined,
      unanswered: 0,
      answered: Promise.resolve(),
    };
    this.#clients.add(client);
    return client;
  }

  #received(client: Client, message: string): void {
    const { peer, worker } = client;
    clearTimeout(client.idle);
    // A page in a browser of this computer can send requests here, with calls in their bodies.
    if (message.includes('\n')) return peer.cut('it speaks a different protocol');
    const call = readCall(message);
    if (!call && worker?.hears(message)) return;
    const isDone = call !== undefined && this.#run(call, client, message);
    client.unanswered += 1;
    if (client.unanswered > mostUnanswered) return peer.cut('it keeps sending without waiting for answers');
    client.answered = client.answered.then(async () => this.#answer(client, call, await isDone));
  }

  #answer(client: Client, call: Call | undefined, isDone: boolean): void {
    const { peer, worker } = client;
    client.unanswered -= 1;
    if (!this.#clients.has(client)) return;
    peer.send(isDone ? 'True' : 'False');
    if (call?.name === 'close') peer.close('it asked to be closed');
    else if (call?.name === 'sleep') worker?.sleep();
    if (!worker) this.#watchIdle(client);
  }

  /** Returns whether it was done. */
  #run(call: Call, client: Client, message: string): boolean | Promise<boolean> {
    const { worker } = client;
    switch (call.name) {
      case 'try_lock':
        return this.#tryLock(call.lock, client);
      case 'release_lock':
        return this.#locks.release(call.lock, client);
      case 'sleep':
        return worker !== undefined;
      case 'halt':
        worker?.halt();
        return worker !== undefined;
      // Whoever can connect could stop it, for all.
      case 'halt_server':
        return false;
      case 'close':
        this.#locks.releaseAll(client);
        return true;
      // Whoever may lock at all is not asked: the worker has run it since before this server was started.
      case 'hold':
        if (worker) return false;
        return call.lock === undefined || this.#take(call.lock, client);
      case 'joined':
        if (worker) return false;
        client.joinedAs = call.worker;
        return true;
      case 'listen':
        if (worker) return false;
        client.listensTo = call.queue;
        return true;
      // A ring.
      default:
        if (worker) return false;
        this.#ring(call.ring, client, message);
        return true;
    }
  }

  async #tryLock(lock: string, client: Client): Promise<boolean> {
    if (this.#locks.has(lock)) return false;
    const may = await this.#parts.mayLock(this.#joined);
    // Taken only now: a worker that has come back meanwhile may hold it.
    return may && this.#clients.has(client) && this.#take(lock, client);
  }

  #take(lock: string, client: Client): boolean {
    return this.#locks.countOf(client) < mostLocks && this.#locks.take(lock, client);
  }

  get #joined(): ReadonlySet<string> {
    return new Set([...this.#clients].flatMap(({ joinedAs }) => joinedAs ?? []));
  }

  /** The one who rings has heard it already. It goes on as it came: what else is in it is for those who listen to judge. */
  #ring(ring: SentRing, from: Client, message: string): void {
    for (const client of this.#clients) {
      if (client !== from && client.listensTo === ring.queue) client.peer.send(message);
    }
    if (ring.queue === this.#parts.queue && ring.topic === 'tasks') this.wake();
  }

  #watchIdle(client: Client): void {
    clearTimeout(client.idle);
    const stays = client.listensTo !== undefined || client.joinedAs !== undefined;
    if (!this.#clients.has(client) || stays || this.#locks.countOf(client) > 0) return;
    client.idle = setTimeout(() => client.peer.close('it was idle for too long'), this.#parts.idleTimeoutMs);
  }

  #forget(client: Client): void {
    clearTimeout(client.idle);
    client.worker?.close();
    this.#locks.releaseAll(client);
    this.#clients.delete(client);
  }

  #tell(message: string): void {
    if (performance.now() - this.#toldAt < tellAgainMs) return;
    this.#toldAt = performance.now();
    this.#parts.report(message);
  }
}
