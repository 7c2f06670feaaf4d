import type { Socket } from 'node:net';
import { ServerMessages } from './server-messages.js';

/** Where bytes go. */
export type Direction = 'to worker' | 'to database';

/** What becomes of a part of the stream. */
export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'hold' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** It does not arrive; these bytes come back instead. */
  | { readonly kind: 'answer'; readonly bytes: Buffer }
  /** These bytes arrive in its place. */
  | { readonly kind: 'replace'; readonly bytes: Buffer }
  /** From now on nothing gets through on this connection, whatever becomes of the fault. */
  | { readonly kind: 'silence' }
  /** The first bytes still go through, then both halves end. */
  | { readonly kind: 'cut'; readonly keep: number };

/** A part of the stream, shown to the faults before it is passed on. */
export interface Passing {
  readonly direction: Direction;
  /** None where a side has closed its half. */
  readonly bytes: Buffer;
  /** Letter of the server's message that these bytes belong to; empty for what the worker sends. */
  readonly message: string;
  readonly first: boolean;
  readonly last: boolean;
}

interface Kept {
  readonly passing: Passing;
  readonly due: number;
  timer?: NodeJS.Timeout;
}

/** What asks the server for TLS is that long; what it answers then is no message. */
const tlsRequestBytes = 8;

/** One connection of a worker through the proxy, and its other half to the database. */
export class ProxiedConnection {
  readonly #worker: Socket;
  readonly #database: Socket;
  readonly #judge: (connection: ProxiedConnection, passing: Passing) => Verdict;
  readonly #kept: Record<Direction, Kept[]> = { 'to worker': [], 'to database': [] };
  /** Undefined where the server does not speak in messages. */
  #messages: ServerMessages | undefined;
  #name = '';
  #silent = false;

  constructor(
    worker: Socket,
    database: Socket,
    judge: (connection: ProxiedConnection, passing: Passing) => Verdict,
    speaksInMessages = true,
  ) {
    this.#messages = speaksInMessages ? new ServerMessages() : undefined;
    this.#worker = worker;
    this.#database = database;
    this.#judge = judge;
    worker.once('data', (chunk) => this.#readStart(chunk));
    worker.on('data', (bytes) => this.#pass('to database', bytes));
    database.on('data', (chunk) => this.#readAnswer(chunk));
    for (const [socket, direction] of [
      [worker, 'to database'],
      [database, 'to worker'],
    ] as const) {
      // As both ends have it: else each round trip waits 40 ms for an acknowledgement.
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('end', () => this.#passEnd(direction));
      socket.on('close', () => this.#passEnd(direction));
    }
  }

  /** `application_name`, or `program_name` of MySQL's clients, once the first message has told it. */
  get name(): string {
    return this.#name;
  }

  get closed(): boolean {
    return this.#worker.destroyed && this.#database.destroyed;
  }

  /** Judges what was kept back once more. */
  resume(): void {
    for (const kept of Object.values(this.#kept)) {
      for (const { passing, timer } of kept.splice(0)) {
        clearTimeout(timer);
        this.#treat(passing);
      }
    }
  }

  /** Breaks both halves with a TCP reset. */
  reset(): void {
    this.#worker.resetAndDestroy();
    this.#database.resetAndDestroy();
  }

  /** Closes the half that goes there, though the other side has not. */
  end(direction: Direction): void {
    this.#silent = true;
    this.#target(direction).end();
  }

  destroy(): void {
    for (const { timer } of Object.values(this.#kept).flat()) clearTimeout(timer);
    this.#worker.destroy();
    this.#database.destroy();
  }

  /** The first message: names and values, each with a NUL behind it, or its length before it. */
  #readStart(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    const [, name, length, rest] = /application_name\0([^\0]*)\0|program_name([^])([^]*)/.exec(text) ?? [];
    this.#name = name ?? rest?.slice(0, length?.charCodeAt(0)) ?? '';
    if (chunk.length === tlsRequestBytes) this.#messages = undefined;
  }

  #readAnswer(chunk: Buffer): void {
    if (!this.#messages) return this.#pass('to worker', chunk);
    for (const { type, ...part } of this.#messages.push(chunk)) {
      this.#treat({ direction: 'to worker', message: type, ...part });
    }
  }

  #pass(direction: Direction, bytes: Buffer): void {
    this.#treat({ direction, bytes, message: '', first: true, last: true });
  }

  #passEnd(direction: Direction): void {
    // Even in silence: nobody is left who could be told.
    if (hasEnded(this.#worker) && hasEnded(this.#database) && this.#silent) return this.destroy();
    if (!this.#target(direction).writable) return;
    this.#treat({ direction, bytes: Buffer.alloc(0), message: '', first: false, last: false });
  }

  #treat(passing: Passing): void {
    const verdict = this.#judge(this, passing);
    if (verdict.kind === 'silence') this.#silent = true;
    if (this.#silent || verdict.kind === 'drop') return;
    if (verdict.kind === 'answer') {
      const direction = passing.direction === 'to worker' ? 'to database' : 'to worker';
      return this.#send({ ...passing, direction, bytes: verdict.bytes }, 0);
    }
    if (verdict.kind === 'replace') return this.#send({ ...passing, bytes: verdict.bytes }, 0);
    if (verdict.kind === 'cut') this.#cut(passing, verdict.keep);
    else if (verdict.kind === 'hold') this.#kept[passing.direction].push({ passing, due: Infinity });
    else this.#send(passing, verdict.kind === 'delay' ? verdict.ms : 0);
  }

  /** Nothing overtakes what is kept. */
  #send(passing: Passing, ms: number): void {
    const kept = this.#kept[passing.direction];
    if (ms === 0 && kept.length === 0) return this.#write(passing);
    const one: Kept = { passing, due: performance.now() + ms };
    one.timer = setTimeout(() => this.#sendDue(kept), ms);
    kept.push(one);
  }

  #sendDue(kept: Kept[]): void {
    // A timer may fire a fraction of a millisecond early.
    const now = performance.now() + 1;
    while (kept[0] && kept[0].due <= now) {
      clearTimeout(kept[0].timer);
      this.#write(kept[0].passing);
      kept.shift();
    }
  }

  #cut({ direction, bytes }: Passing, keep: number): void {
    if (keep > 0) this.#target(direction).end(bytes.subarray(0, keep));
    else this.#target(direction).resetAndDestroy();
    this.#silent = true;
    this.#target(direction === 'to worker' ? 'to database' : 'to worker').resetAndDestroy();
  }

  #write({ direction, bytes }: Passing): void {
    const target = this.#target(direction);
    if (bytes.length === 0) target.end();
    else if (target.writable) target.write(bytes);
  }

  #target(direction: Direction): Socket {
    return direction === 'to worker' ? this.#worker : this.#database;
  }
}

function hasEnded({ readableEnded, destroyed }: Socket): boolean {
  return readableEnded || destroyed;
}
