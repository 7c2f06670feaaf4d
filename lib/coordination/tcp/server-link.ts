import { connect } from 'node:net';
import { Peer } from './peer.js';

/** A server of the client-server mode, and how long a message and its answer may take. */
export interface ServerPort {
  readonly host: string;
  readonly port: number;
  readonly messageTimeoutMs: number;
}

export interface ServerLinkUse {
  /** The server has said NOTIFY, which it says to one who waits for work. */
  readonly notified?: (() => void) | undefined;
  /** Called once, when the connection is gone. */
  readonly gone?: ((why: string) => void) | undefined;
}

/** A call that waits for its answer. */
interface OpenCall {
  readonly answered: (answer: boolean) => void;
  readonly failed: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A connection to a server of the client-server mode, ours or that of nsj-queue-lib. That one takes what arrives together for one
 * message, so each call waits for the answer to the one before.
 */
export class ServerLink {
  readonly #peer: Peer;
  readonly #messageTimeoutMs: number;
  #open: OpenCall | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #gone: Error | undefined;
  #answeredAt = performance.now();

  private constructor(peer: Peer, messageTimeoutMs: number) {
    this.#peer = peer;
    this.#messageTimeoutMs = messageTimeoutMs;
  }

  static open({ host, port, messageTimeoutMs }: ServerPort, use: ServerLinkUse = {}): Promise<ServerLink> {
    return new Promise((opened, failed) => {
      const socket = connect({ host, port });
      const slow = setTimeout(() => peer.cut('it is unreachable'), messageTimeoutMs);
      const peer = new Peer(
        socket,
        messageTimeoutMs,
        (message) => link.#received(message, use),
        (why) => {
          clearTimeout(slow);
          link.#end(new Error(`the server at ${host}:${port}: ${why}`));
          failed(link.#gone);
          use.gone?.(why);
        },
      );
      const link = new ServerLink(peer, messageTimeoutMs);
      socket.once('connect', () => {
        clearTimeout(slow);
        opened(link);
      });
    });
  }

  /** Ms since the server answered last. */
  get silentMs(): number {
    return performance.now() - this.#answeredAt;
  }

  get isBusy(): boolean {
    return this.#open !== undefined;
  }

  /** Sends what has no answer. */
  tell(message: string): void {
    this.#peer.send(message);
  }

  /** Returns whether the server said true. Rejects when the connection is gone. */
  call(message: string): Promise<boolean> {
    const answered = this.#last.then(() => this.#ask(message));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  cut(why: string): void {
    this.#peer.cut(why);
  }

  #ask(message: string): Promise<boolean> {
    if (this.#gone) return Promise.reject(this.#gone);
    return new Promise((answered, failed) => {
      const ms = this.#messageTimeoutMs;
      const timer = setTimeout(() => this.#peer.cut(`it did not answer within ${ms} ms`), ms);
      this.#open = { answered, failed, timer };
      this.#peer.send(message);
    });
  }

  #received(message: string, { notified }: ServerLinkUse): void {
    const open = this.#open;
    if (open) {
      clearTimeout(open.timer);
      this.#open = undefined;
      this.#answeredAt = performance.now();
      open.answered(message.toUpperCase() === 'TRUE');
    } else if (message === 'NOTIFY') notified?.();
    // Which call it belongs to cannot be told any more.
    else this.#peer.cut('it sent an unexpected answer');
  }

  #end(error: Error): void {
    this.#gone = error;
    const open = this.#open;
    this.#open = undefined;
    if (!open) return;
    clearTimeout(open.timer);
    open.failed(error);
  }
}
