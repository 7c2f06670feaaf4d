import { connect, type Socket } from 'node:net';
import { Backoff } from '../../timing/backoff.js';
import { Peer } from './peer.js';

export interface ServerLinkParts {
  readonly host: string;
  /** The server's lock port. */
  readonly port: number;
  /** How long connecting, a message and an answer may take. */
  readonly messageTimeoutMs: number;
  /** Called with what is no answer. */
  readonly received: (message: string) => void;
  /** Connected; when it rejects, the connection is cut and made again. */
  readonly up: () => Promise<void>;
  /** The connection was lost, or could not be made. */
  readonly down: (error: Error) => void;
}

/** A call that waits for its answer. */
interface OpenCall {
  readonly answered: (answer: boolean) => void;
  readonly failed: (error: Error) => void;
}

/** A connection to the server, made again after each loss until it is closed. */
export class ServerLink {
  /** Resolves when the first connection is up, or gone. */
  readonly tried: Promise<void>;
  readonly #parts: ServerLinkParts;
  readonly #backoff = new Backoff({ firstMs: 200, mostMs: 5_000 });
  readonly #calls: OpenCall[] = [];
  readonly #endTry: () => void;
  #hasAnswered = false;
  #peer: Peer | undefined;
  #socket: Socket | undefined;
  #isClosed = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(parts: ServerLinkParts) {
    this.#parts = parts;
    let endTry!: () => void;
    this.tried = new Promise((resolve) => (endTry = resolve));
    this.#endTry = endTry;
  }

  /** True once it has answered a call: a server that is full lets connections in before it ends them. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Connects, and goes on doing so. */
  open(): void {
    this.#ended = this.#keep();
  }

  /** Sends a call and answers what the server says. Rejects when it says nothing in time, or there is no connection. */
  async call(message: string): Promise<boolean> {
    const peer = this.#peer;
    if (!peer) throw new Error(`there is no connection to ${this.#where}`);
    const { messageTimeoutMs } = this.#parts;
    const timer = setTimeout(
      () => peer.cut(`it did not answer within ${messageTimeoutMs} ms`),
      messageTimeoutMs,
    );
    try {
      return await new Promise<boolean>((answered, failed) => {
        this.#calls.push({ answered, failed });
        peer.send(message);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection, and makes no other. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.cancel();
    this.#socket?.destroy();
    await this.#ended;
  }

  get #where(): string {
    const { host, port } = this.#parts;
    return `the server at ${host}:${port}`;
  }

  async #keep(): Promise<void> {
    while (!this.#isClosed) {
      const error = await this.#connectOnce();
      if (!this.#isClosed) this.#parts.down(error);
      this.#endTry();
      await this.#backoff.wait();
    }
  }

  /** Resolves when the connection is gone. */
  #connectOnce(): Promise<Error> {
    const { host, port, messageTimeoutMs } = this.#parts;
    return new Promise((resolve) => {
      const socket = connect({ host, port });
      this.#socket = socket;
      const timer = setTimeout(
        () => peer.cut(`it did not answer within ${messageTimeoutMs} ms`),
        messageTimeoutMs,
      );
      const peer = new Peer(socket, {
        messageTimeoutMs,
        received: (message) => this.#received(message),
        gone: (why) => {
          clearTimeout(timer);
          this.#peer = undefined;
          const error = new Error(`the connection to ${this.#where} was lost: ${why}`);
          for (const { failed } of this.#calls.splice(0)) failed(error);
          resolve(error);
        },
      });
      socket.once('connect', () => {
        clearTimeout(timer);
        this.#peer = peer;
        this.#parts.up().then(
          () => {
            this.#backoff.reset();
            this.#endTry();
          },
          (error: unknown) => peer.cut(error instanceof Error ? error.message : String(error)),
        );
      });
    });
  }

  #received(message: string): void {
    const answer = message.toUpperCase();
    if (answer !== 'TRUE' && answer !== 'FALSE') return this.#parts.received(message);
    this.#hasAnswered = true;
    this.#calls.shift()?.answered(answer === 'TRUE');
  }
}
