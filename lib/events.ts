import { EventEmitter } from 'node:events';
import { Observable } from 'rxjs';
import type { InconsistencyKind } from './storage/inconsistencies.js';
import type { Task } from './task.js';
import { keepContext } from './values/own-context.js';

/** Names an attempt in events: ids only, never its payload. */
export interface TaskReference {
  readonly id: string;
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly dead: boolean;
}

/** Names an attempt in events. */
export function reference({ task }: { readonly task: Task }): TaskReference {
  const { id, firstAttemptId, attempt, topic, subscriptionId, dead } = task;
  return { id, firstAttemptId, attempt, topic, subscriptionId, dead };
}

/** Every event and what it carries. One per transition, plus what operators need to know of a worker. */
export interface QueueEventMap {
  'task.claimed': { readonly task: TaskReference };
  'task.completed': { readonly task: TaskReference; readonly message: string };
  /** `error` is what the handler threw; `nextAttemptInMs` is undefined when there is no next attempt. */
  'task.failed': {
    readonly task: TaskReference;
    readonly message: string;
    readonly error: unknown;
    readonly nextAttemptInMs: number | undefined;
  };
  /** Its handler threw `Snooze`: it has not failed, and is due again in `dueInMs`. */
  'task.snoozed': {
    readonly task: TaskReference;
    readonly message: string;
    readonly error: unknown;
    readonly dueInMs: number;
  };
  /** `by` is null where nobody was named. Told by the process that cancels it. */
  'task.cancelled': {
    readonly task: TaskReference;
    readonly by: string | null;
    readonly message: string;
  };
  /** Many were, chosen by a filter: so many in one statement. */
  'tasks.cancelled': { readonly count: number; readonly by: string | null; readonly message: string };
  'task.buried': { readonly task: TaskReference; readonly deadId: string };
  'task.recovered': { readonly task: TaskReference; readonly workerId: string };
  'task.released': { readonly task: TaskReference; readonly reason: string };
  /** The outcome of an attempt was refused: it belongs to another worker by now. */
  'task.lost': { readonly task: TaskReference };
  'tasks.promoted': { readonly count: number };
  /**
   * Tasks of a topic, or deliveries of a subscription, have waited for `waitingMs`, and no running worker serves them. Told by
   * a process when it finds out, and again every ten minutes. Both names are null for tasks without topic.
   */
  'tasks.unserved': {
    readonly topic: string | null;
    readonly subscriptionId: string | null;
    readonly waitingMs: number;
  };
  /**
   * Rows contradict each other, as `QueueAdmin.check()` says: attempts that this process has failed, and the newest lack what must
   * follow them, or attempts run that nobody has held for a minute. True for `mended`: next attempts were inserted after all. `refused` is why the database does not take these.
   */
  'table.inconsistent': {
    readonly kind: InconsistencyKind;
    readonly ids: readonly string[];
    readonly mended: boolean;
    readonly refused: string | undefined;
  };
  'publication.delivered': { readonly task: TaskReference; readonly deliveries: number };
  /**
   * A publication has ended without a delivery: no active subscription matches. Emitted beside `publication.delivered`. `declared`
   * are those that this application declares for the topic: their rows are inactive, or for another tenant, group or topic.
   */
  'publication.discarded': { readonly task: TaskReference; readonly declared: readonly string[] };
  /** An endpoint failed `failures` times in a row, and its deliveries rest for `forMs`. */
  'webhook.opened': { readonly subscriptionId: string; readonly failures: number; readonly forMs: number };
  /** An endpoint that rested has answered. */
  'webhook.closed': { readonly subscriptionId: string };
  /** A subscription gets no deliveries any more, until it is made active again. */
  'webhook.deactivated': { readonly subscriptionId: string; readonly reason: string };
  /** A tenant's database cannot be used; said once until it can. */
  'tenant.failed': { readonly tenant: string; readonly message: string };
  /** A tenant's database that failed can be used again. */
  'tenant.restored': { readonly tenant: string };
  /** An action was taken from the dashboard, or tried: `refused` is why it was not done. */
  'dashboard.action': {
    readonly action: string;
    /** A task's id, a topic, a subscription, or a filter. */
    readonly target: string;
    /** As the option `dashboard.actor` names them; null where it gives no name. */
    readonly actor: string | null;
    readonly refused: string | undefined;
  };
  'worker.started': { readonly workerId: string; readonly routes: readonly string[] };
  'worker.stopped': { readonly workerId: string; readonly unfinished: number };
  /** A statement of the worker keeps failing; it tries again until `worker.recovered`. */
  'worker.troubled': { readonly workerId: string; readonly error: unknown };
  'worker.recovered': { readonly workerId: string };
  /**
   * The worker has taken no task for `forMs`, and would take none if there were any: it may not claim, or cannot. Told every minute
   * until it goes on.
   */
  'worker.stalled': { readonly workerId: string; readonly reason: string; readonly forMs: number };
  /**
   * The event loop of this process stood still for `blockedMs`, while handlers of these tasks ran: one of them computes, or waits
   * synchronously. Told every ten seconds at most.
   */
  'loop.blocked': {
    readonly workerId: string;
    readonly blockedMs: number;
    readonly tasks: readonly TaskReference[];
  };
  'connection.lost': { readonly connection: string; readonly error: unknown };
  'connection.restored': { readonly connection: string };
  'routine.finished': { readonly routine: string; readonly affected: number; readonly durationMs: number };
  'routine.failed': { readonly routine: string; readonly error: unknown };
  warning: { readonly message: string };
  /** Something worth a line in the log, but no cause for worry. */
  notice: { readonly message: string };
}

export type QueueEventName = keyof QueueEventMap;

/**
 * The stream of a queue's events. Logs, metrics and pages subscribe to it; the worker only emits.
 *
 * @example events.on('task.failed', ({ task, message }) => alert(`${task.topic} failed: ${message}`));
 */
export class QueueEvents {
  readonly #emitter = new EventEmitter({ captureRejections: false }).setMaxListeners(0);
  readonly #inContext = keepContext();

  /**
   * Subscribes; returns the function that unsubscribes. A listener that throws disturbs no other, and each starts with the
   * async context of the module, whoever emits.
   */
  on<Name extends QueueEventName>(name: Name, listener: (event: QueueEventMap[Name]) => void): () => void {
    const guarded = (event: QueueEventMap[Name]): void => {
      try {
        this.#inContext(listener, event);
      } catch (error) {
        if (name !== 'warning') {
          this.emit('warning', { message: `a listener of '${name}' threw: ${String(error)}` });
        }
      }
    };
    this.#emitter.on(name, guarded);
    return () => void this.#emitter.off(name, guarded);
  }

  /**
   * The same as an observable; it never completes.
   *
   * @example events.observe('task.failed').pipe(bufferTime(60_000)).subscribe((failures) => report(failures));
   */
  observe<Name extends QueueEventName>(name: Name): Observable<QueueEventMap[Name]> {
    return new Observable((subscriber) => this.on(name, (event) => subscriber.next(event)));
  }

  /** True when there is a listener; events per task are only made then. */
  has(name: QueueEventName): boolean {
    return this.#emitter.listenerCount(name) > 0;
  }

  /** @internal */
  emit<Name extends QueueEventName>(name: Name, event: QueueEventMap[Name]): void {
    this.#emitter.emit(name, event);
  }
}
