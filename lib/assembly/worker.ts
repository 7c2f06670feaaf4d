import type { QueueAdmin } from '../admin/queue-admin.js';
import type { Bell } from '../coordination/bell.js';
import { EndAnnouncer } from '../coordination/end-announcer.js';
import type { Liveness } from '../coordination/liveness.js';
import { FanOut } from '../worker/fan-out.js';
import { ForeignLockWatch } from '../maintenance/foreign-lock-watch.js';
import { NotifyRoutine } from '../maintenance/notify.routine.js';
import { PurgeRoutine } from '../maintenance/purge.routine.js';
import { RecurringTasks } from '../maintenance/recurring-tasks.js';
import { Recovery } from '../maintenance/recovery.js';
import { TableWatch } from '../maintenance/table-watch.js';
import { RetryRoutine } from '../maintenance/retry.routine.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { errorProperties } from '../redaction/error-properties.js';
import { Redaction } from '../redaction/redaction.js';
import type { WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import type { DeclaredSchedules } from '../subscribers/declared-schedules.js';
import { HandlerRegistry } from '../subscribers/handler-registry.js';
import type { TenantSource } from '../tenants/tenant-use.js';
import { version } from '../version.js';
import type { ClosingTime } from '../timing/closing-time.js';
import { Capacity, ServedRoutes } from '../worker/claiming/routes.js';
import { Dispatcher } from '../worker/dispatcher.js';
import type { DispatcherParts } from '../worker/dispatcher-parts.js';
import { Executor } from '../worker/running/executor.js';
import type { ChildPools } from '../worker/children/child-pools.js';
import type { DetachedChildrenParts } from '../worker/children/detached-children.js';
import { DetachedWorker, type DetachedWorkerParts } from '../worker/children/detached-worker.js';
import { HaltOrder } from '../worker/halt-order.js';
import { HiddenRows, Standstill, Outage } from '../worker/standstill.js';
import { Listening } from '../worker/agenda.js';
import { LoopMonitor } from '../worker/loop-monitor.js';
import { QueueWorker, type QueueWorkerParts } from '../worker/queue-worker.js';
import { Settler, type SuccessCounter } from '../worker/running/settler.js';
import { Signal } from '../timing/signal.js';
import { UnservedWatch } from '../maintenance/unserved-watch.js';

/** What a process that works has besides its core. */
export interface QueueWorkerAssembly {
  readonly worker: QueueWorker;
  readonly registry: HandlerRegistry;
  readonly retry: RetryRoutine;
  readonly notify: NotifyRoutine;
  readonly purge: PurgeRoutine;
  readonly admin: QueueAdmin;
  /** For all workers of the process. */
  readonly table: TableWatch;
  /** Makes what runs attempts for a registered worker. */
  readonly execution: (workerId: WorkerId) => Execution;
  /** Makes the worker of a detached process. */
  readonly detached: (parts: DetachedProcessParts) => DetachedWorker;
  /** Those of the worker: without a session it polls. */
  readonly options: ResolvedOptions;
}

/** What a detached process adds to the parts of its worker. */
export type DetachedProcessParts = Pick<
  DetachedWorkerParts,
  'liveness' | 'handlerBegins' | 'handlerEnded' | 'tell' | 'giveUp'
>;

/** The parts of a registered worker that run attempts and record how they ended. */
export interface Execution {
  readonly executor: Executor;
  readonly fanOut: FanOut;
  readonly settler: Settler;
  /** Set when the settler has something to write. */
  readonly signal: Signal;
}

export interface WorkerBasis {
  readonly database: QueueDatabase;
  readonly bell: Bell;
  readonly liveness: Liveness;
  readonly events: QueueEvents;
  readonly options: ResolvedOptions;
  readonly closing: ClosingTime;
  readonly declared: Pick<DeclaredSubscriptions, 'of' | 'restore'>;
  readonly schedules: Pick<DeclaredSchedules, 'ids' | 'restore'>;
  readonly tenants: TenantSource;
  readonly admin: (purge: PurgeRoutine, worker: QueueWorker, table: TableWatch) => QueueAdmin;
  readonly registry?: HandlerRegistry;
  /** Default: nothing counts. */
  readonly counter?: SuccessCounter | undefined;
  /** Where isolated handlers run, given what fails the attempts of processes that have ended. Default: there are none. */
  readonly children?:
    ((parts: Pick<DetachedChildrenParts, 'registry' | 'recovery'>) => ChildPools) | undefined;
  readonly pausedRoutes?: DispatcherParts['pausedRoutes'];
  /** Default: one of its own. */
  readonly table?: TableWatch | undefined;
  /** What is hidden besides what is secret by its name. Default: nothing. */
  readonly redact?: readonly string[] | undefined;
}

/** Puts a worker together. Nothing runs until it is started. */
export function assembleParts(basis: WorkerBasis): QueueWorkerAssembly {
  const { database, bell, liveness, events, options, closing, declared, schedules, tenants } = basis;
  const { registry = new HandlerRegistry(), counter, pausedRoutes, redact = [] } = basis;
  const propertiesOf = errorProperties(options.errorProperties, new Redaction(redact));
  const execution = (workerId: WorkerId, pools?: ChildPools): Execution => {
    const signal = new Signal();
    const settler = new Settler(workerId, { database, events, signal, counter, propertiesOf });
    const running = { database, bell, settler, registry, tenants, options, events, children: pools };
    const executor = new Executor(workerId, running);
    const fanOut = new FanOut(workerId, { database, bell, settler, declared, options, events });
    return { executor, fanOut, settler, signal };
  };
  /** Lives by `living`; without `pools` isolated handlers run in this process. */
  const registeredWith =
    (living: Liveness, pools?: ChildPools): QueueWorkerParts['registered'] =>
    (workerId, halting) => {
      const { executor, ...others } = execution(workerId, pools);
      const halt = new HaltOrder(workerId, { database, events, options, ...halting });
      const served = new ServedRoutes(registry, options, pools);
      const capacity = new Capacity(served, options);
      const hidden = new HiddenRows(database);
      const outage = new Outage(workerId, events);
      const shared = {
        database,
        bell,
        liveness: living,
        halt,
        served,
        capacity,
        pausedRoutes,
        options,
        events,
      };
      const dispatcher = new Dispatcher(workerId, { executor, hidden, outage, ...others, ...shared });
      const { running } = dispatcher;
      const standstill = new Standstill({
        workerId,
        database,
        liveness: living,
        hidden,
        outage,
        running,
        events,
      });
      const loop = new LoopMonitor(workerId, dispatcher, capacity, options, events);
      return { dispatcher, executor, halt, standstill, loop };
    };
  const unserved = new UnservedWatch(database, events, options);
  const timing = options.recoveryTiming;
  const foreignLocks = new ForeignLockWatch(database.interop, events);
  const { table = new TableWatch(database, bell, events, options.purgeMaxAgeDays, 2 * timing.intervalMs) } =
    basis;
  const recovery = new Recovery({
    database,
    bell,
    liveness,
    registry,
    options,
    timing,
    events,
    foreignLocks,
    table,
  });
  const declaredIds = (): readonly string[] => schedules.ids;
  const recurring = new RecurringTasks({ database, bell, events, declared: declaredIds, options });
  const ends = new EndAnnouncer(events, bell);
  const listening = new Listening({ bell, ends, recovery, recurring, unserved, options, events });
  const children = basis.children?.({ registry, recovery });
  const worker = new QueueWorker({
    database,
    liveness,
    listening,
    registry,
    registered: registeredWith(liveness, children),
    children,
    recovery,
    recurring,
    schedules: declaredIds,
    declared: { restore: async () => void (await Promise.all([declared.restore(), schedules.restore()])) },
    closing,
    foreignLocks,
    unserved,
    options,
    events,
    version,
    enabled: options.worker,
  });
  const { purgeMaxAgeDays, purgeLimit, purgeRoundLimit } = options;
  const purge = new PurgeRoutine(
    database,
    { liveness, events },
    { maxAgeDays: purgeMaxAgeDays, limit: purgeLimit, roundLimit: purgeRoundLimit },
  );
  return {
    worker,
    registry,
    retry: new RetryRoutine(liveness, recovery),
    notify: new NotifyRoutine(database, bell, liveness, unserved, options),
    purge,
    admin: basis.admin(purge, worker, table),
    table,
    execution,
    detached: (parts) =>
      new DetachedWorker({
        database,
        listening,
        registered: registeredWith(parts.liveness),
        events,
        version,
        ...parts,
      }),
    options,
  };
}
