import { hostname } from 'node:os';
import type { Liveness } from '../../coordination/liveness.js';
import { hasCode } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { Claim, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { WorkerDescription } from '../../storage/workers.js';
import { Backoff } from '../../timing/backoff.js';
import type { Listening } from '../agenda.js';
import type { RegisteredWorker, QueueWorkerParts } from '../queue-worker.js';
import type { RunningTasks } from '../running/running-tasks.js';
import type { DetachedOrder, DetachedReport } from './messages.js';

export interface DetachedWorkerParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'workers'>;
  readonly liveness: Liveness;
  readonly listening: Listening;
  readonly registered: QueueWorkerParts['registered'];
  readonly events: QueueEvents;
  readonly version: string;
  /** Tells the parent; rejects when that is gone. */
  readonly tell: (report: DetachedReport) => Promise<void>;
  /** Told before its handler is called. */
  readonly handlerBegins: () => void;
  /** Told when its handler has ended. */
  readonly handlerEnded: () => void;
  /** Ends the process, whose handler does not stop. */
  readonly giveUp: () => void;
}

/** How long a handler may go on that was told to stop: its process ends then. */
export const stopGraceMs = 10_000;
/** How often it is asked whether it was. */
const watchMs = 1_000;

/**
 * The worker of a detached process. It takes its one attempt over from the worker that has started the process, runs it as any
 * worker does, and leaves when its outcome is in the table. It lives by a lease of its own, whatever becomes of its parent.
 */
export class DetachedWorker {
  readonly #parts: DetachedWorkerParts;
  #isTakingOver = false;

  constructor(parts: DetachedWorkerParts) {
    this.#parts = parts;
  }

  /** True since the attempt may be this worker's: from then on it goes on without its parent. */
  get isTakingOver(): boolean {
    return this.#isTakingOver;
  }

  /** Resolves when the attempt has ended, or was not there to be taken over. */
  async run({ parent, claimed, output }: DetachedOrder): Promise<void> {
    const { database, listening, tell, version } = this.#parts;
    const self = {
      host: hostname(),
      pid: process.pid,
      version,
      concurrency: 1,
      detached: { parent, output },
    };
    // It serves no route: who waits there waits for others.
    const description: WorkerDescription = { ...self, routes: [], deadRoutes: [] };
    const id = await database.workers.register(description);
    const registered = this.#parts.registered(id, {
      // It stops after its attempt anyway.
      stop: () => undefined,
      restore: () => database.workers.restore(id, description),
      isSilent: true,
    });
    const { dispatcher, halt } = registered;
    await this.#hold(id, registered);
    await listening.start({ id, dispatcher, halt, isSilent: true });
    await tell({ type: 'registered', workerId: id });
    this.#isTakingOver = true;
    if (await this.#takeOver(claimed, parent, id)) {
      this.#parts.handlerBegins();
      dispatcher.runOnly(claimed);
      await tell({ type: 'taken over' }).catch(() => undefined);
      await this.#finish(registered);
    } else {
      await tell({ type: 'came late' }).catch(() => undefined);
    }
    halt.end();
    await Promise.all([listening.stop(), this.#parts.liveness.release()]);
    await database.workers.retire(id, 'stopped');
  }

  async #hold(id: WorkerId, { dispatcher }: RegisteredWorker): Promise<void> {
    const { liveness, events } = this.#parts;
    const { connection } = liveness;
    await liveness.hold(id, {
      lost: (error) => events.emit('connection.lost', { connection, error }),
      restored: () => {
        events.emit('connection.restored', { connection });
        // Others may have recovered the attempt.
        dispatcher.reconcile();
      },
    });
  }

  /** Asks until the database answers: what was committed unseen is found to be this worker's. */
  async #takeOver(claim: Claim, parent: WorkerId, id: WorkerId): Promise<boolean> {
    const backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
    for (;;) {
      try {
        return await this.#parts.database.attempts.handOver(claim, parent, id);
      } catch (error) {
        if (!hasCode(error, 'CONNECTION_LOST')) throw error;
        await backoff.wait();
      }
    }
  }

  /** Work of hours is not lost because the database is away when it ends: its outcome waits for that. */
  async #finish({ dispatcher }: RegisteredWorker): Promise<void> {
    const watch = setInterval(() => {
      if (!isToldToStop(dispatcher.running)) return;
      clearInterval(watch);
      setTimeout(() => dispatcher.running.size > 0 && this.#parts.giveUp(), stopGraceMs).unref();
    }, watchMs);
    await dispatcher.running.idle();
    this.#parts.handlerEnded();
    clearInterval(watch);
    await dispatcher.finish(new Promise(() => undefined));
    dispatcher.stopClaiming();
  }
}

/** Over time, cancelled, or recovered by others while its lease was not renewed. */
function isToldToStop(running: RunningTasks): boolean {
  return running.all().some(({ context }) => context?.aborted !== undefined);
}
