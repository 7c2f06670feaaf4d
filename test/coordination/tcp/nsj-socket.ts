import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Arrivals } from '../../support/arrivals.js';

const endMark = '###END###';

/**
 * A connection that reads as nsj-queue-lib does: what arrives is one message up to a part that has a mark in it, without its last
 * nine characters. Two messages that arrive together are one to it.
 */
export class NsjSocket {
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #arrived = new Arrivals<string>();
  #text = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (part) => this.#read(part.toString()));
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Connects; it is closed when the test ends. */
  static async open(port: number, host = '127.0.0.1'): Promise<NsjSocket> {
    const socket = connect({ host, port });
    const opened = new NsjSocket(socket);
    onTestFinished(() => opened.cut());
    await once(socket, 'connect');
    return opened;
  }

  /** Sends a message and returns what comes next. */
  call(message: string): Promise<string> {
    this.write(message + endMark);
    return this.next();
  }

  /** The next message. Fails when none comes within 20 s. */
  next(): Promise<string> {
    return this.#arrived.next();
  }

  /** Sends bytes as they are. */
  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Answers NOTIFY, and goes to work. */
  async accept(): Promise<void> {
    const message = await this.next();
    if (message !== 'NOTIFY') throw new Error(`${message} instead of NOTIFY`);
    this.write(`TRUE${endMark}`);
  }

  /** Reads nothing any more. */
  pause(): void {
    this.#socket.pause();
  }

  /** Ends the connection as a process does that is killed. */
  cut(): void {
    this.#socket.destroy();
  }

  #read(part: string): void {
    this.#text += part;
    if (!part.includes(endMark)) return;
    this.#arrived.add(this.#text.slice(0, -endMark.length));
    this.#text = '';
  }
}
