import { Worker } from 'node:worker_threads';
import { TarefaError } from '../errors.js';
import type { LeaseOrders, LeaseReport } from './lease-protocol.js';

/** What a {@link Lease} works with. */
export interface LeaseParts extends Omit<LeaseOrders, 'renewedAt'> {
  readonly lost: (error: unknown) => void;
  readonly restored: () => void;
}

/** The thread is given so long to end by itself. */
const goodbyeMs = 500;

/** A place among the living that is renewed by a thread, whatever the event loop of the worker does. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #renewedAt = new BigInt64Array(new SharedArrayBuffer(8));
  #thread: Worker | undefined;
  #ended: Promise<void> | undefined;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** True while nobody can have called this worker lost: read from memory, so it costs nothing. */
  get valid(): boolean {
    const renewed = Atomics.load(this.#renewedAt, 0);
    if (renewed === 0n) return false;
    const ageMs = Number(process.hrtime.bigint() - renewed) / 1e6;
    return ageMs < this.#parts.leaseMs - this.#parts.renewMs / 2;
  }

  /** Goes on from a first renewal that was sent at `sentAt`, by `process.hrtime`. */
  start(sentAt: bigint): void {
    const { lost, restored, ...orders } = this.#parts;
    const workerData: LeaseOrders = { ...orders, renewedAt: this.#renewedAt.buffer };
    Atomics.store(this.#renewedAt, 0, sentAt);
    this.#thread = openThread(workerData);
    this.#ended = new Promise((resolve) => this.#thread?.once('exit', () => resolve()));
    this.#thread.on('message', (report: LeaseReport) => {
      if (report.type === 'lost') lost(report.error);
      else restored();
    });
    this.#thread.on('error', (error) => {
      Atomics.store(this.#renewedAt, 0, 0n);
      lost(error);
    });
  }

  /** Renews no more; what is left of it runs out by itself. Idempotent. */
  async stop(): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    this.#thread = undefined;
    thread.postMessage('stop');
    const timer = setTimeout(() => void thread.terminate(), goodbyeMs);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** Only plain values reach a thread. */
function openThread(workerData: LeaseOrders): Worker {
  try {
    return new Worker(new URL('./lease-thread.js', import.meta.url), { workerData });
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the connection goes through a pooler, so a thread has to keep this worker's lease, and the connection's ` +
        `configuration cannot be handed to it (${String(cause)}): leave functions out of it, or set sessionConnection ` +
        `to a direct address`,
      { cause },
    );
  }
}
