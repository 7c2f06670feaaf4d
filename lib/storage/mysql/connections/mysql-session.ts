import { Worker } from 'node:worker_threads';
import type { ConnectionOptions } from 'mysql2';
import type { Session, SessionWatcher } from '../../../coordination/session.js';
import { within } from '../../../timing/deadline.js';
import { ownFile } from '../../../values/own-file.js';
import { lockName } from '../lock-name.js';
import {
  readError,
  sendError,
  type SessionMessage,
  type SessionOrders,
  type SessionQuestion,
  type SessionReport,
  type SessionTiming,
} from './mysql-session-protocol.js';
import { openThread } from './lease-orders.js';

/** A process that stands still, or that no packet reaches, is noticed in half a minute. */
const usualTiming: SessionTiming = { silentSeconds: 30, proofMs: 5_000 };

/** How long the thread may take to end by itself. */
const goodbyeMs = 1_000;
/** A thread that ended is started again after that. */
const againMs = 1_000;

interface Waiting {
  readonly resolve: (done: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The one session of a process with a database: what holds locks. Those that are held are taken again after a reconnect. It lives
 * in a thread, because the server ends a session that says nothing for half a minute, and so notices a process that stands still
 * and a network that is gone.
 */
export class MysqlSession implements Session {
  /** Looked for once: what is installed again under a running worker is no reason to end it. */
  readonly #module = ownFile('storage/mysql/connections/mysql-session-thread.js', 'The session of a worker');
  readonly #config: ConnectionOptions;
  readonly #timing: SessionTiming;
  readonly #proven = new BigInt64Array(new SharedArrayBuffer(8));
  readonly #watchers = new Set<SessionWatcher>();
  /** Locks to hold as long as there is a session: liveness. */
  readonly #lasting = new Set<string>();
  /** Locks held now. The server would grant a session the same lock twice, so it is not asked. */
  readonly #held = new Set<string>();
  readonly #waiting = new Map<number, Waiting>();
  #questions = 0;
  #thread: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #up = false;
  #opened = false;
  #stopped = false;
  #restoredAt = -Infinity;
  /** What failed last while it was down. */
  #failure: unknown;

  constructor(config: ConnectionOptions, timing = usualTiming) {
    this.#config = config;
    this.#timing = timing;
  }

  /** Read from memory, so it costs nothing: a process that stood still does not believe what it knew before. */
  get up(): boolean {
    if (!this.#up) return false;
    const proven = Atomics.load(this.#proven, 0);
    if (proven === 0n) return false;
    const { silentSeconds, proofMs } = this.#timing;
    // Later they may be another's by the time that a statement arrives.
    return Number(process.hrtime.bigint() - proven) / 1e6 < silentSeconds * 1_000 - proofMs;
  }

  get failure(): unknown {
    return this.#up ? undefined : this.#failure;
  }

  get steadyMs(): number {
    return performance.now() - this.#restoredAt;
  }

  /** Opens the session; rejects when that fails the first time, later it reconnects automatically. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#startThread((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
    this.#opened = true;
    this.#up = true;
  }

  watch(watcher: SessionWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** MySQL has no channels. */
  listen(): Promise<never> {
    return Promise.reject(new Error('a session of MySQL or MariaDB cannot listen'));
  }

  async hold(key: string): Promise<boolean> {
    const name = lockName(key);
    if (this.#held.has(name) || !(await this.#take('hold', name))) return false;
    this.#lasting.add(name);
    return true;
  }

  async tryLock(key: string): Promise<boolean> {
    const name = lockName(key);
    return this.#held.has(name) ? false : this.#take('tryLock', name);
  }

  async unlock(key: string): Promise<void> {
    const name = lockName(key);
    const isLasting = this.#lasting.delete(name);
    if (!this.#held.delete(name) && !isLasting) return;
    await this.#ask('unlock', name).catch(() => undefined);
  }

  leave(why: Error): void {
    if (this.#thread) this.#tell(this.#thread, { leave: sendError(why) });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#up = false;
    clearTimeout(this.#again);
    const thread = this.#thread;
    if (!thread) return;
    this.#tell(thread, 'stop');
    await within(this.#ended, goodbyeMs);
    await thread.terminate();
  }

  async #take(ask: 'hold' | 'tryLock', name: string): Promise<boolean> {
    this.#held.add(name);
    try {
      if (await this.#ask(ask, name)) return true;
    } catch (error) {
      this.#held.delete(name);
      throw error;
    }
    this.#held.delete(name);
    return false;
  }

  #ask(ask: SessionQuestion['ask'], name: string): Promise<boolean> {
    const thread = this.#thread;
    if (!thread) return Promise.reject(new Error('Connection closed: the session is down'));
    this.#questions += 1;
    const id = this.#questions;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#tell(thread, { id, ask, name });
    });
  }

  #tell(thread: Worker, message: SessionMessage): void {
    thread.postMessage(message);
  }

  /** @param opened told once, with the reason when the first connection failed */
  #startThread(opened: (failure?: unknown) => void): void {
    const orders: SessionOrders = {
      config: this.#config,
      timing: this.#timing,
      provenAt: this.#proven.buffer,
      lasting: [...this.#lasting],
    };
    const thread = openThread(this.#module, orders);
    this.#thread = thread;
    let failure: unknown = new Error('the thread of the session ended');
    thread.on('message', (report: SessionReport) => {
      if (report.type === 'opened') return opened();
      if (report.type !== 'failed') return this.#heard(report);
      failure = readError(report.error);
      opened(failure);
    });
    thread.on('error', (error) => (failure = error));
    this.#ended = new Promise((resolve) => {
      thread.once('exit', () => {
        this.#thread = undefined;
        opened(failure);
        this.#gone(failure);
        resolve(undefined);
      });
    });
  }

  #heard(report: Exclude<SessionReport, { readonly type: 'opened' | 'failed' }>): void {
    if (report.type === 'lost') this.#lost(readError(report.error));
    else if (report.type === 'stillLost') this.#failure = readError(report.error);
    else if (report.type === 'restored') this.#restored();
    else if (report.type === 'answer') {
      const waiting = this.#waiting.get(report.id);
      this.#waiting.delete(report.id);
      if (report.error) waiting?.reject(readError(report.error));
      else waiting?.resolve(report.done);
    }
  }

  #lost(error: unknown): void {
    this.#failure = error;
    this.#held.clear();
    if (this.#stopped || !this.#up) return;
    this.#up = false;
    for (const watcher of this.#watchers) watcher.lost(error);
  }

  #restored(): void {
    if (this.#stopped) return;
    for (const name of this.#lasting) this.#held.add(name);
    this.#up = true;
    this.#restoredAt = performance.now();
    for (const watcher of this.#watchers) watcher.restored();
  }

  /** Nothing is left of the thread. One that had worked is replaced. */
  #gone(failure: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
    this.#lost(failure);
    if (this.#stopped || !this.#opened) return;
    this.#again = setTimeout(() => {
      this.#startThread((error) => {
        if (error === undefined) this.#restored();
      });
    }, againMs);
  }
}
