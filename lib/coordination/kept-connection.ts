import { once, setMaxListeners } from 'node:events';
import { Backoff } from '../timing/backoff.js';
import type { HearingChanged } from './session.js';

/** A connection to what carries texts between the processes of a queue. */
export interface BellConnection {
  /** Sends a text to all that listen, perhaps this process too; resolves when it is on its way. */
  publish(text: string): Promise<void>;
  /** From now on texts are received. */
  listen(): Promise<void>;
}

/** How one is used. */
export interface BellConnectionUse {
  readonly received: (text: string) => void;
  /** To be called when it is gone. */
  readonly gone: (error: unknown) => void;
  /** Ends what was opened, whatever became of it. */
  readonly signal: AbortSignal;
}

/** Carries texts between the processes of a queue: a server, a broker. */
export interface BellCarrier {
  /** For people. */
  readonly name: string;
  /** How long connecting, a text and an answer may take. */
  readonly timeoutMs: number;
  /** Connects once; rejects where that fails. */
  connect(use: BellConnectionUse): Promise<BellConnection>;
}

/**
 * The one connection of a bell. It is made when it is first needed. Where this process listens it is made again after each loss, else
 * when there is something to send again.
 */
export class KeptConnection {
  readonly #carrier: BellCarrier;
  readonly #received: (text: string) => void;
  /** Told, once it listens, whether it hears. */
  readonly #changed: HearingChanged;
  readonly #backoff = new Backoff({ firstMs: 200, mostMs: 5_000 });
  #connection: BellConnection | undefined;
  /** Why there is none: what failed last. */
  #failure: Error;
  /** Ends the connection, or the attempt to make one. */
  #end: AbortController | undefined;
  /** One connection after the other, and the pauses between them. */
  #kept: Promise<void> | undefined;
  /** Resolves when the last attempt has succeeded or failed. */
  #tried: Promise<void> = Promise.resolve();
  #listens = false;
  #isClosed = false;

  constructor(carrier: BellCarrier, received: (text: string) => void, changed: HearingChanged) {
    this.#carrier = carrier;
    this.#received = received;
    this.#changed = changed;
    this.#failure = new Error(`not connected to ${carrier.name}`);
  }

  /** Rejects where the text is lost. */
  async publish(text: string): Promise<void> {
    await this.#open();
    const [connection, end] = [this.#connection, this.#end];
    if (!connection || !end) throw this.#failure;
    await this.#inTime(end, connection.publish(text));
    this.#backoff.reset();
  }

  /** Receives from now on, over losses too; resolves when the first attempt has succeeded or failed. */
  async listen(): Promise<void> {
    const isNew = !this.#listens;
    this.#listens = true;
    if (isNew && this.#connection && this.#end) await this.#ask(this.#end, this.#connection);
    else await this.#open();
  }

  /** Ends the connection, and makes no other. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.cancel();
    this.#end?.abort(new Error('it was closed'));
    await this.#kept;
  }

  /** Resolves when there is a connection, or none could be made. In the pause after a failure there is none. */
  async #open(): Promise<void> {
    if (this.#isClosed) return;
    this.#kept ??= this.#keep();
    await this.#tried;
  }

  async #keep(): Promise<void> {
    do {
      await this.#connectOnce();
      await this.#backoff.wait();
    } while (this.#listens && !this.#isClosed);
    this.#kept = undefined;
  }

  /** Resolves when the connection is gone. */
  async #connectOnce(): Promise<void> {
    const end = new AbortController();
    setMaxListeners(0, end.signal);
    this.#end = end;
    const ended = once(end.signal, 'abort');
    this.#tried = this.#connect(end).catch((error: unknown) => end.abort(error));
    await ended;
    this.#connection = undefined;
    this.#failure = new Error(
      `the connection to ${this.#carrier.name} was lost: ${textOf(end.signal.reason)}`,
    );
    if (this.#listens && !this.#isClosed) this.#changed(this.#failure);
  }

  async #connect(end: AbortController): Promise<void> {
    const use = { received: this.#received, gone: (error: unknown) => end.abort(error), signal: end.signal };
    const connection = await this.#inTime(end, this.#carrier.connect(use));
    if (end.signal.aborted) return;
    this.#connection = connection;
    if (this.#listens) await this.#ask(end, connection);
  }

  async #ask(end: AbortController, connection: BellConnection): Promise<void> {
    try {
      await this.#inTime(end, connection.listen());
      if (end.signal.aborted) return;
      this.#backoff.reset();
      this.#changed(undefined);
    } catch (error) {
      end.abort(error);
    }
  }

  /** Rejects when the connection is gone; what takes longer ends it. */
  async #inTime<T>(end: AbortController, work: Promise<T>): Promise<T> {
    const { timeoutMs } = this.#carrier;
    const timer = setTimeout(
      () => end.abort(new Error(`it did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    let stop = (): void => undefined;
    const gone = new Promise<never>((_, reject) => {
      stop = () => reject(end.signal.reason as Error);
      end.signal.addEventListener('abort', stop);
    });
    try {
      if (end.signal.aborted) stop();
      return await Promise.race([work, gone]);
    } finally {
      clearTimeout(timer);
      end.signal.removeEventListener('abort', stop);
    }
  }
}

/** An address with several numbers fails with an error that has a code alone. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}
