import { Worker } from 'node:worker_threads';
import { TarefaError } from '../../errors.js';
import type { LeaseOrders, LeaseReport, LeaseThread } from '../lease-protocol.js';

export interface LeaseParts extends Omit<LeaseOrders, 'renewedAt' | 'database'> {
  readonly thread: LeaseThread;
  readonly lost: (error: unknown) => void;
  readonly restored: () => void;
}

/** How long the thread may take to end by itself. */
const goodbyeMs = 500;

/** A place among the living that is renewed by a thread, whatever the event loop of the worker does. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #renewedAt = new BigInt64Array(new SharedArrayBuffer(8));
  #worker: Worker | undefined;
  #ended: Promise<void> | undefined;

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

  /** Goes on from a first renewal that was sent at `sentAt`, by `process.hrtime`. */
  start(sentAt: bigint): void {
    const { lost, restored, thread, ...orders } = this.#parts;
    const { database } = thread;
    const workerData: LeaseOrders = { ...orders, database, renewedAt: this.#renewedAt.buffer };
    Atomics.store(this.#renewedAt, 0, sentAt);
    const worker = openThread(thread.module, workerData);
    this.#worker = worker;
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (report: LeaseReport) => {
      if (report.type === 'lost') lost(report.error);
      else restored();
    });
    worker.on('error', (error) => {
      Atomics.store(this.#renewedAt, 0, 0n);
      lost(error);
    });
  }

  /** Renews no more; what is left of it runs out by itself. Idempotent. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    worker.postMessage('stop');
    const timer = setTimeout(() => void worker.terminate(), goodbyeMs);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** Only plain values reach a thread. */
function openThread(module: URL, workerData: LeaseOrders): Worker {
  try {
    return new Worker(module, { workerData });
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
