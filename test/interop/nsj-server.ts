import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

const endMark = '###END###';

export interface NsjServerParts {
  /** Whether tasks are due: asked again and again. */
  readonly areDue: () => Promise<boolean>;
  readonly checkMs?: number;
  /** How long it waits for a message of a worker that works. */
  readonly timeoutMs?: number;
}

/** A worker on the notify port. It is read only after NOTIFY, until it says that it sleeps. */
interface Worker {
  readonly name: string;
  readonly socket: Socket;
  state: 'free' | 'asked' | 'busy' | 'deaf';
  last: string | undefined;
  timer?: NodeJS.Timeout;
}

/**
 * Does what the server of nsj-queue-lib does, with its faults. What arrives together is one message. A worker that works and says
 * nothing in time is answered its last call again, and is not heard any more where it has made none. Anybody may release a lock, and those of
 * the lock port belong to a computer, for ever. One that closes there is mixed up with whoever came last.
 */
export class NsjServer {
  readonly #parts: Required<NsjServerParts>;
  readonly #locks = new Map<string, string>();
  readonly #workers = new Set<Worker>();
  #routines: Socket[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #servers: Server[] = [];
  #timer: NodeJS.Timeout | undefined;

  private constructor(parts: NsjServerParts) {
    this.#parts = { checkMs: 20, timeoutMs: 5_000, ...parts };
  }

  /** Starts it on free ports, until the test ends. */
  static async start(parts: NsjServerParts): Promise<NsjServer> {
    const server = new NsjServer(parts);
    await server.#listen((socket) => server.#acceptWorker(socket));
    await server.#listen((socket) => server.#acceptRoutine(socket));
    void server.#check();
    onTestFinished(() => server.#close());
    return server;
  }

  get notifyPort(): number {
    return this.#portOf(0);
  }

  get lockPort(): number {
    return this.#portOf(1);
  }

  #portOf(index: number): number {
    return (this.#servers[index]?.address() as AddressInfo | null | undefined)?.port ?? 0;
  }

  async #listen(accept: (socket: Socket) => void): Promise<void> {
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      accept(socket);
    });
    this.#servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  async #check(): Promise<void> {
    if (await this.#parts.areDue().catch(() => false)) {
      for (const worker of this.#workers) {
        if (worker.state !== 'free') continue;
        worker.state = 'asked';
        worker.socket.write(`NOTIFY${endMark}`);
      }
    }
    if (this.#servers.length > 0) this.#timer = setTimeout(() => void this.#check(), this.#parts.checkMs);
  }

  #acceptWorker(socket: Socket): void {
    const worker: Worker = {
      name: `${socket.remoteAddress}:${socket.remotePort}`,
      socket,
      state: 'free',
      last: undefined,
    };
    this.#workers.add(worker);
    readMessages(socket, (message) => this.#heard(worker, message));
    socket.on('close', () => {
      clearTimeout(worker.timer);
      this.#workers.delete(worker);
      // Nobody notices it otherwise.
      if (worker.state === 'busy')
        for (const [lock, holder] of this.#locks) if (holder === worker.name) this.#locks.delete(lock);
    });
  }

  #heard(worker: Worker, message: string): void {
    if (worker.state === 'asked') {
      worker.state = message === 'TRUE' ? 'busy' : 'free';
      worker.last = undefined;
      if (worker.state === 'busy') this.#expectMore(worker);
    } else if (worker.state === 'busy') this.#handle(worker, message);
    else worker.state = 'deaf';
  }

  #handle(worker: Worker, message: string): void {
    worker.last = message;
    worker.socket.write(`${this.#run(message, worker.name) ?? 'True'}${endMark}`);
    if (message.startsWith('sleep()')) worker.state = 'free';
    this.#expectMore(worker);
  }

  #expectMore(worker: Worker): void {
    clearTimeout(worker.timer);
    if (worker.state !== 'busy') return;
    worker.timer = setTimeout(() => {
      if (worker.last === undefined) worker.state = 'deaf';
      else this.#handle(worker, worker.last);
    }, this.#parts.timeoutMs);
  }

  #acceptRoutine(socket: Socket): void {
    this.#routines.push(socket);
    socket.on('close', () => (this.#routines = this.#routines.filter((one) => one !== socket)));
    readMessages(socket, (message) => {
      if (!this.#routines.includes(socket)) return;
      if (message.startsWith('close()')) this.#routines.pop();
      socket.write(`${this.#run(message, 'this computer') ?? 'None'}${endMark}`);
    });
  }

  /** Undefined where it has nothing to say. */
  #run(message: string, who: string): 'True' | 'False' | undefined {
    const [, name, lock = ''] = /^(try_lock|release_lock|sleep|close)\((\d*)\)/.exec(message) ?? [];
    if (name === undefined) return 'False';
    if (name === 'try_lock') {
      if (this.#locks.has(lock)) return 'False';
      this.#locks.set(lock, who);
      return 'True';
    }
    if (name === 'release_lock') this.#locks.delete(lock);
    return undefined;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(
      this.#servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }
}

/** What arrives up to a part with a mark in it is one message. */
function readMessages(socket: Socket, heard: (message: string) => void): void {
  let text = '';
  socket.on('data', (part) => {
    text += part.toString();
    if (!part.toString().includes(endMark)) return;
    const message = text.slice(0, -endMark.length);
    text = '';
    heard(message);
  });
}
