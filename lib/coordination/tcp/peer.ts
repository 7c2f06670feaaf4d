import type { Socket } from 'node:net';
import { frame, FrameReader, longestMessage } from './frames.js';

/** A peer that has died without a word is noticed after this and ten probes, a second apart. */
const keepAliveMs = 15_000;
/** Bytes that wait for a peer that does not read. */
const mostUnread = 262_144;

/** One end of a connection: whole messages in and out. What the other end does wrong costs it the connection, and no more. */
export class Peer {
  /** Where it is, for people. */
  readonly address: string;
  readonly #socket: Socket;
  /** How long a message may take from its first byte to its mark. */
  readonly #messageTimeoutMs: number;
  readonly #received: (message: string) => void;
  /**
   * Called once, when the connection is gone.
   *
   * @param isFault whether the other end did what it must not
   */
  readonly #gone: (why: string, isFault: boolean) => void;
  readonly #reader = new FrameReader();
  #timer: NodeJS.Timeout | undefined;
  #why: string | undefined;
  #isGone = false;

  constructor(
    socket: Socket,
    messageTimeoutMs: number,
    received: (message: string) => void,
    gone: (why: string, isFault: boolean) => void,
  ) {
    this.#socket = socket;
    this.#messageTimeoutMs = messageTimeoutMs;
    this.#received = received;
    this.#gone = gone;
    this.address = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? '?'}`;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    socket.on('data', (segment) => this.#read(segment));
    // An address with several numbers fails with an error that has a code alone.
    socket.on('error', (error: NodeJS.ErrnoException) => (this.#why ??= error.message || error.code));
    // Half a connection is none: what it holds is free at once, whether or not it reads what was sent to it.
    socket.on('end', () => this.close('it closed the connection'));
    socket.on('close', () => this.#end('it closed the connection', false));
  }

  send(message: string): void {
    if (this.#isGone) return;
    this.#socket.write(frame(message));
    if (this.#socket.writableLength > mostUnread) this.cut('it does not read its messages');
  }

  /** Closes the connection. What was sent arrives, unless the other end has not read what was sent before: nobody waits for that. */
  close(why: string): void {
    this.#socket.destroy();
    this.#end(why, false);
  }

  /** Closes the connection because of what the other end did. */
  cut(why: string): void {
    this.#socket.destroy();
    this.#end(why, true);
  }

  #read(segment: Buffer): void {
    const messages = this.#reader.read(segment);
    for (const message of messages) {
      if (this.#isGone) return;
      this.#received(message);
    }
    if (this.#isGone) return;
    if (this.#reader.isTooLong) this.cut(`it sent a message of more than ${longestMessage} bytes`);
    else this.#watch(messages.length > 0);
  }

  /** @param isNew whether another message has begun since the timer was set */
  #watch(isNew: boolean): void {
    if (isNew || !this.#reader.isWithin) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (!this.#reader.isWithin) return;
    this.#timer ??= setTimeout(
      () => this.cut(`it did not finish a message within ${this.#messageTimeoutMs} ms`),
      this.#messageTimeoutMs,
    );
  }

  #end(why: string, isFault: boolean): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    this.#gone(this.#why ?? why, isFault);
  }
}
