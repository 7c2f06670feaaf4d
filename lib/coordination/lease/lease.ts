import { Worker } from 'node:worker_threads';
import { TarefaError } from '../../errors.js';
import type { LeaseOrders, LeaseReport, LeaseThread } from '../lease-protocol.js';

export interface LeaseParts extends Omit<LeaseOrders, 'renewedAt' | 'database' | 'wasLost'> {
  readonly thread: LeaseThread;
  /** The lease is not renewed any more: told once, until it is again. */
  readonly lost: (error: unknown) => void;
  readonly restored: () => void;
}

/** How long the thread may take to end by itself. */
const goodbyeMs = 500;
/** One that ended by itself is replaced after that. */
const againMs = 1_000;

/** A place among the living that is renewed by a thread, whatever the event loop of the worker does. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #renewedAt = new BigInt64Array(new SharedArrayBuffer(8));
  #worker: Worker | undefined;
  #ended: Promise<void> | undefined;
  #again: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Why it was not renewed the last time; undefined when it was. */
  #failure: unknown;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  /** True while no worker can have called this one lost: read from memory, so it costs nothing. */
  get valid(): boolean {
    const renewed = Atomics.load(this.#renewedAt, 0);
    if (renewed === 0n) return false;
    const ageMs = Number(process.hrtime.bigint() - renewed) / 1e6;
    return ageMs < this.#parts.leaseMs - this.#parts.renewMs / 2;
  }

  /** Why it was not renewed the last time; undefined when it was. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Goes on from a first renewal that was sent at `sentAt`, by `process.hrtime`. */
  start(sentAt: bigint): void {
    Atomics.store(this.#renewedAt, 0, sentAt);
    this.#startThread();
  }

  /** Renews no more; what is left of it simply runs out. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#again);
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    worker.postMessage('stop');
    const timer = setTimeout(() => void worker.terminate(), goodbyeMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #startThread(): void {
    const { lost: _lost, restored: _restored, thread, ...orders } = this.#parts;
    const { database } = thread;
    const wasLost = this.#failure !== undefined;
    const workerData: LeaseOrders = { ...orders, database, renewedAt: this.#renewedAt.buffer, wasLost };
    const worker = openThread(thread.module, workerData);
    this.#worker = worker;
    worker.on('message', (report: LeaseReport) => {
      if (report.type === 'failed') this.#failed(report.error);
      else this.#restored();
    });
    let failure: unknown = new Error('the thread that renews the lease ended');
    worker.on('error', (error) => (failure = error));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        resolve();
        this.#gone(failure);
      });
    });
  }

  #failed(error: unknown): void {
    const isNew = this.#failure === undefined;
    this.#failure = error;
    if (isNew) this.#parts.lost(error);
  }

  #restored(): void {
    this.#failure = undefined;
    this.#parts.restored();
  }

  /** Nothing is left of the thread: another one takes its place. The lease itself may hold until then. */
  #gone(failure: unknown): void {
    if (this.#stopped) return;
    this.#failed(failure);
    this.#again = setTimeout(() => {
      try {
        this.#startThread();
      } catch (error) {
        this.#gone(error);
      }
    }, againMs);
  }
}

/** Only plain values reach a thread. */
function openThread(module: URL, workerData: LeaseOrders): Worker {
  try {
    return new Worker(module, { workerData });
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the connection goes through a pooler, so a thread must keep this worker's lease, but the connection's ` +
        `configuration cannot be passed to it (${String(cause)}): leave functions out of it, or set sessionConnection ` +
        `to a direct address`,
      { cause },
    );
  }
}
