import { hostname } from 'node:os';
import type { Liveness, LivenessWatcher } from '../coordination/liveness.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import { publicationRoute } from '../storage/route.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerId } from '../storage/attempt.js';
import type { WorkerStall } from '../storage/status-report.js';
import type { WorkerDescription } from '../storage/workers.js';
import type { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import type { HandlerRegistry } from '../subscribers/handler-registry.js';
import type { ForeignLockWatch } from '../maintenance/foreign-lock-watch.js';
import type { RecurringTasks } from '../maintenance/recurring-tasks.js';
import type { Recovery } from '../maintenance/recovery.js';
import { cleaningLink } from '../values/docs-link.js';
import { closingReserves, type ClosingTime } from '../timing/closing-time.js';
import { deadlineIn, within } from '../timing/deadline.js';
import type { Dispatcher } from './dispatcher.js';
import type { Executor } from './running/executor.js';
import type { ChildPools } from './children/child-pools.js';
import type { HaltOrder, HaltOrderParts } from './halt-order.js';
import type { Listening } from './agenda.js';
import type { LoopDelay, LoopMonitor } from './loop-monitor.js';
import type { Standstill } from './standstill.js';
import type { UnservedWatch } from '../maintenance/unserved-watch.js';
import type { WorkerOptions } from '../options/worker-options.js';

/** The parts that run a worker, made once it has its id. */
export interface RegisteredWorker {
  readonly dispatcher: Dispatcher;
  readonly executor: Pick<Executor, 'stop'>;
  readonly halt: HaltOrder;
  readonly standstill: Standstill;
  readonly loop: LoopMonitor;
}

export interface QueueWorkerParts {
  readonly database: QueueDatabase;
  readonly liveness: Liveness;
  readonly listening: Listening;
  readonly registry: HandlerRegistry;
  readonly registered: (
    workerId: WorkerId,
    halting: Pick<HaltOrderParts, 'stop' | 'restore' | 'isSilent'>,
  ) => RegisteredWorker;
  /** Where isolated handlers run; undefined where there are none. */
  readonly children?: ChildPools | undefined;
  readonly recovery: Recovery;
  readonly recurring: RecurringTasks;
  /** Ids of schedules that the code of this process declares. */
  readonly schedules: () => readonly string[];
  readonly declared: Pick<DeclaredSubscriptions, 'restore'>;
  /** The time for everything that is closed with this worker. */
  readonly closing: ClosingTime;
  readonly foreignLocks: ForeignLockWatch;
  readonly unserved: UnservedWatch;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
  readonly version: string;
  /** False in a process that only produces. */
  readonly enabled: boolean;
}

/** More workers do not run while the table of workers is empty. */
const mostIds = 1_000;
/** How long handlers may take to end after their signal was aborted. */
const abortGraceMs = 1_000;

/**
 * The life of a worker: it registers, works, and leaves no row or lock behind.
 */
export class QueueWorker {
  readonly #parts: QueueWorkerParts;
  #id: WorkerId | undefined;
  #registered: RegisteredWorker | undefined;
  #state: QueueWorker['state'] = 'idle';
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** True while the first child of each kind is started. */
  #isBooting = false;
  #companion: QueueWorker | undefined;
  #isCompanion = false;

  /** @hidden */
  constructor(parts: QueueWorkerParts) {
    this.#parts = parts;
  }

  /** Id in the worker table and in the `executor` of the rows it holds; undefined before the start. */
  get id(): WorkerId | undefined {
    return this.#id;
  }

  /** Where the worker is in its life. `running` says nothing of its connections: see {@link stalled}, and the events. */
  get state(): 'idle' | 'starting' | 'running' | 'stopping' | 'stopped' {
    return this.#state;
  }

  /** False in a process that only produces. */
  get enabled(): boolean {
    return this.#parts.enabled;
  }

  /** Attempts that run now, webhooks included. */
  get running(): number {
    return (this.#registered?.dispatcher.running.size ?? 0) + (this.#companion?.running ?? 0);
  }

  /**
   * Why this worker takes no tasks, and for how many ms it has taken none: its session or lease is lost, its statements fail or are
   * refused for each row, rows are hidden from it. Undefined while all is well, also with nothing to do, and during the first minute. Of webhooks likewise.
   */
  get stalled(): WorkerStall | undefined {
    return this.#registered?.standstill.stall ?? this.#companion?.stalled;
  }

  /**
   * How late the event loop of this process was in the last minute: for metrics. Undefined while the worker does not run, and with
   * `maxLoopDelayMs: 0`.
   */
  get loopDelay(): LoopDelay | undefined {
    return this.#state === 'running' ? this.#registered?.loop.delay : undefined;
  }

  /** @internal Another worker of this process, which starts and stops together with this one. */
  attach(companion: QueueWorker): void {
    this.#companion = companion;
    companion.#isCompanion = true;
  }

  /** Starts claiming. Idempotent until `stop`. */
  async start(): Promise<void> {
    if (this.#stopping)
      throw new TarefaError('WORKER_STOPPED', 'this worker has stopped and cannot start again');
    if (!this.#parts.enabled) {
      throw new TarefaError(
        'WORKER_STOPPED',
        'this process only produces (worker: false): it has no worker to start',
      );
    }
    this.#starting ??= this.#start().catch(async (error: unknown) => {
      await this.#closeChildren(0);
      throw error;
    });
    await this.#starting;
  }

  /**
   * Stops claiming at once, lets running handlers finish until `shutdownTimeoutMs`, then aborts their signals.
   * What still runs after that is recovered by another worker. Idempotent.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<void> {
    const { registry, recovery, options, events } = this.#parts;
    this.#state = 'starting';
    await this.#startChildren();
    if (this.#parts.options.interop) await this.#parts.foreignLocks.refuse();
    const routes = [publicationRoute, ...registry.announced];
    // The other worker of this process declares none.
    const schedules = this.#isCompanion ? [] : this.#parts.schedules();
    const description = { ...this.#description, routes, schedules };
    const id = await this.#takeId(description);
    // The other worker of this process reports a notification that both ignore.
    const isSilent = this.#isCompanion;
    const restore = (): Promise<void> => this.#restore(id, description);
    const halting = { stop: () => void this.stop(), restore, isSilent };
    const registered = this.#parts.registered(id, halting);
    const { dispatcher, halt, standstill, loop } = registered;
    this.#registered = registered;
    await this.#parts.listening.start({ id, dispatcher, halt, isSilent });
    dispatcher.start();
    standstill.start();
    // Locks of tasks went with it: others may take them for crashed.
    if (options.interop) events.on('connection.lost', () => dispatcher.reconcile());
    recovery.start(id);
    // The other worker of this process does these.
    if (!this.#isCompanion) {
      this.#parts.unserved.start();
      this.#parts.recurring.start();
      loop.start();
    }
    this.#state = 'running';
    events.emit('worker.started', { workerId: id, routes });
    await this.#companion?.start();
  }

  async #startChildren(): Promise<void> {
    const { children } = this.#parts;
    if (!children) return;
    this.#isBooting = true;
    await Promise.all(Object.values(children).map((pool) => pool.start()));
    this.#isBooting = false;
  }

  async #closeChildren(mostMs: number): Promise<void> {
    await Promise.all(Object.values(this.#parts.children ?? {}).map((pool) => pool.close(mostMs)));
  }

  get #description(): Omit<WorkerDescription, 'routes'> {
    const { registry, options, version } = this.#parts;
    const { concurrency } = options;
    return { host: hostname(), pid: process.pid, version, concurrency, deadRoutes: registry.announcedDead };
  }

  /** Registers, and lives by that id from now on. */
  async #takeId(description: WorkerDescription): Promise<WorkerId> {
    const { database, liveness, events } = this.#parts;
    const { connection } = liveness;
    const watcher: LivenessWatcher = {
      lost: (error) => {
        events.emit('connection.lost', { connection, error });
        // A lease cannot be renewed in a row that was deleted.
        this.#registered?.halt.ask();
      },
      restored: () => {
        events.emit('connection.restored', { connection });
        this.#registered?.dispatcher.reconcile();
      },
    };
    for (let tried = 0; tried < mostIds; tried += 1) {
      const id = await database.workers.register(description);
      this.#id = id;
      if (await liveness.hold(id, watcher)) return id;
      // Ids start over where the table was emptied, under the workers that still run.
      await database.workers.withdraw(id);
      this.#id = undefined;
    }
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `this worker got ${mostIds} ids in a row, each in use by another running worker: the table of workers was emptied`,
    );
  }

  /** Somebody has deleted the row of this worker, as tests do that empty all tables: then others take it for one that is not there. */
  async #restore(id: WorkerId, description: WorkerDescription): Promise<void> {
    const { database, declared, events } = this.#parts;
    await database.workers.restore(id, description);
    events.emit('warning', {
      message:
        `the row of running worker ${id} was deleted from the table of workers and has been restored. Empty only ` +
        `the table of tasks while the application is running: ${cleaningLink()}`,
    });
    await declared.restore();
  }

  async #stop(): Promise<void> {
    // Nobody waits for applications of children that will run nothing.
    if (this.#isBooting) await this.#closeChildren(0);
    await this.#starting?.catch(() => undefined);
    this.#state = 'stopping';
    const [id, registered] = [this.#id, this.#registered];
    // Without its parts it has registered and could not go on.
    const leaving = registered && id !== undefined ? this.#leave(id, registered) : this.#signOff(id);
    await Promise.all([leaving, this.#companion?.stop()]);
    await this.#parts.closing.step((leftMs) => this.#closeChildren(leftMs), closingReserves.rest);
    this.#state = 'stopped';
  }

  async #leave(
    id: WorkerId,
    { dispatcher, executor, halt, standstill, loop }: RegisteredWorker,
  ): Promise<void> {
    const { recovery, closing, events } = this.#parts;
    const { running } = dispatcher;
    halt.end();
    standstill.stop();
    loop.stop();
    this.#parts.unserved.stop();
    dispatcher.stopClaiming();
    const recovered = Promise.all([recovery.stop(), this.#parts.recurring.stop()]);
    await closing.drain(running.idle());
    if (running.size > 0) {
      const reason = new TarefaError('WORKER_STOPPED', 'the worker is shutting down');
      running.abort(reason);
      await closing.step(() => within(running.idle(), abortGraceMs), closingReserves.grace);
      running.abandon(reason);
    }
    executor.stop();
    await closing.step(async (leftMs) => {
      const { cancel, reached } = deadlineIn(leftMs);
      await Promise.all([dispatcher.finish(reached), recovered]);
      cancel();
      await recovery.finish();
    }, closingReserves.settle);
    const unfinished = running.size;
    await this.#signOff(id);
    events.emit('worker.stopped', { workerId: id, unfinished });
  }

  async #signOff(id: WorkerId | undefined): Promise<void> {
    if (id === undefined) return;
    const { database, liveness, listening, closing } = this.#parts;
    await closing.step(async () => {
      const retired = database.workers.retire(id, 'stopped').catch(() => undefined);
      await Promise.all([listening.stop(), liveness.release(), retired]);
    }, closingReserves.leave);
  }
}
