import { EventEmitter } from 'node:events';
import { Observable } from 'rxjs';
import type { InconsistencyKind } from './storage/inconsistencies.js';
import type { Task } from './task.js';
import { keepContext } from './values/own-context.js';

/** Names an attempt in events: ids only, never its payload. */
export interface TaskReference {
  /** Id of the attempt: its row. */
  readonly id: string;
  /** Number of the task: the id of its first attempt. */
  readonly firstAttemptId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Null for a task without topic. */
  readonly topic: string | null;
  /** Of a delivery; null for every other task. */
  readonly subscriptionId: string | null;
  /** True of a dead task. */
  readonly dead: boolean;
}

/** Names an attempt in events. */
export function reference({ task }: { readonly task: Task }): TaskReference {
  const { id, firstAttemptId, attempt, topic, subscriptionId, dead } = task;
  return { id, firstAttemptId, attempt, topic, subscriptionId, dead };
}

/** Every event and what it carries: one for each transition, and what operators need to know of a worker. */
export interface QueueEventMap {
  /** An attempt was claimed and starts in this process. */
  'task.claimed': {
    /** The attempt. */
    readonly task: TaskReference;
  };
  /** The success of an attempt is in the table. */
  'task.completed': {
    /** The attempt. */
    readonly task: TaskReference;
    /** What its row says: the text that the handler returned, or `completed`. */
    readonly message: string;
  };
  /** The failure of an attempt is in the table. */
  'task.failed': {
    /** The attempt. */
    readonly task: TaskReference;
    /** What its row says. */
    readonly message: string;
    /** What the handler threw. */
    readonly error: unknown;
    /** Until the next attempt is due; undefined when there is none. */
    readonly nextAttemptInMs: number | undefined;
  };
  /** The handler threw `Snooze`: the attempt has not failed and waits. */
  'task.snoozed': {
    /** The attempt. */
    readonly task: TaskReference;
    /** Why it waits. */
    readonly message: string;
    /** What the handler threw. */
    readonly error: unknown;
    /** Until the same attempt is due again. */
    readonly dueInMs: number;
  };
  /** A task has ended cancelled. Told by the process that cancelled it, or by the worker that ran it. */
  'task.cancelled': {
    /** Its last attempt. */
    readonly task: TaskReference;
    /** Who cancelled it; null where nobody was named. */
    readonly by: string | null;
    /** Why. */
    readonly message: string;
  };
  /** One statement has cancelled several tasks, which a filter chose. */
  'tasks.cancelled': {
    /** How many. */
    readonly count: number;
    /** Who cancelled them; null where nobody was named. */
    readonly by: string | null;
    /** Why. */
    readonly message: string;
  };
  /** A task ran out of attempts, and its dead task was inserted. */
  'task.buried': {
    /** The last attempt. */
    readonly task: TaskReference;
    /** Number of the dead task. */
    readonly deadId: string;
  };
  /** A worker was lost, and this process has failed the attempt that it ran. */
  'task.recovered': {
    /** The attempt. */
    readonly task: TaskReference;
    /** The lost worker. */
    readonly workerId: string;
  };
  /** An attempt was given back before it started; it is not used up. */
  'task.released': {
    /** The attempt. */
    readonly task: TaskReference;
    /** Why. */
    readonly reason: string;
  };
  /** The outcome of an attempt was refused, because the attempt no longer belongs to this worker. */
  'task.lost': {
    /** The attempt. */
    readonly task: TaskReference;
  };
  /** Scheduled attempts have become pending. */
  'tasks.promoted': {
    /** How many. */
    readonly count: number;
  };
  /**
   * Tasks wait, and no running worker serves their topic or subscription. A process tells it when it finds out, and again every
   * ten minutes.
   */
  'tasks.unserved': {
    /** The topic; null for a subscription, and for tasks without topic. */
    readonly topic: string | null;
    /** The subscription whose deliveries wait; null for a topic. */
    readonly subscriptionId: string | null;
    /** How long the oldest one has waited. */
    readonly waitingMs: number;
  };
  /**
   * Rows contradict each other: attempts that this process has failed, or the newest that have ended, lack what must follow them, or
   * attempts run that nobody has held for a minute. `QueueAdmin.check()` looks for them in the whole table.
   */
  'table.inconsistent': {
    /** What is wrong. */
    readonly kind: InconsistencyKind;
    /** Their attempts. */
    readonly ids: readonly string[];
    /** True when the next attempts were inserted after all. */
    readonly mended: boolean;
    /** Why the database does not take these. */
    readonly refused: string | undefined;
  };
  /** The deliveries of a publication were inserted. */
  'publication.delivered': {
    /** The publication. */
    readonly task: TaskReference;
    /** How many. */
    readonly deliveries: number;
  };
  /** A publication has ended without a delivery, because no active subscription matches. Told beside `publication.delivered`. */
  'publication.discarded': {
    /** The publication. */
    readonly task: TaskReference;
    /**
     * Subscriptions that this application declares for the topic: their rows are inactive, or for another tenant, group or
     * topic.
     */
    readonly declared: readonly string[];
  };
  /** An endpoint failed so often that its deliveries rest. */
  'webhook.opened': {
    /** The subscription that leads there. */
    readonly subscriptionId: string;
    /** Failures in a row. */
    readonly failures: number;
    /** How long they rest. */
    readonly forMs: number;
  };
  /** An endpoint that rested has answered, so its deliveries go on. */
  'webhook.closed': {
    /** The subscription that leads there. */
    readonly subscriptionId: string;
  };
  /** A subscription gets no deliveries any more, until somebody makes it active again. */
  'webhook.deactivated': {
    /** The subscription. */
    readonly subscriptionId: string;
    /** Why. */
    readonly reason: string;
  };
  /** The database of a tenant cannot be used. Told once until it can. */
  'tenant.failed': {
    /** The tenant. */
    readonly tenant: string;
    /** Why. */
    readonly message: string;
  };
  /** The database of a tenant can be used again. */
  'tenant.restored': {
    /** The tenant. */
    readonly tenant: string;
  };
  /**
   * Somebody did something from the dashboard, looked at a payload (`show-payload`), searched in payloads (`search-payloads`),
   * or was refused.
   */
  'dashboard.action': {
    /** What it was. */
    readonly action: string;
    /** Number of a task, a topic, a subscription, or a filter. */
    readonly target: string;
    /** Who, as the option `dashboard.actor` says; null where it gives no name. */
    readonly actor: string | null;
    /** Why it was not done; undefined when it was. */
    readonly refused: string | undefined;
  };
  /** The worker claims from now on. */
  'worker.started': {
    /** Its id in the table of workers. */
    readonly workerId: string;
    /** What it serves: `p` for publications, `s:<subscription>`, `t:<topic>`, `w` for webhooks. */
    readonly routes: readonly string[];
  };
  /** The worker claims no more. */
  'worker.stopped': {
    /** Its id in the table of workers. */
    readonly workerId: string;
    /** Attempts that did not end in time, and that another worker recovers. */
    readonly unfinished: number;
  };
  /** A statement of the worker keeps failing; it tries again until `worker.recovered`. */
  'worker.error': {
    /** Its id in the table of workers. */
    readonly workerId: string;
    /** What the database said. */
    readonly error: unknown;
  };
  /** The statement has succeeded, and the worker goes on. */
  'worker.recovered': {
    /** Its id in the table of workers. */
    readonly workerId: string;
  };
  /**
   * The worker takes nothing, and would take nothing if there were tasks: it may not claim, or cannot. Told every minute until
   * it goes on.
   */
  'worker.stalled': {
    /** Its id in the table of workers. */
    readonly workerId: string;
    /** Why. */
    readonly reason: string;
    /** How long it has taken nothing. */
    readonly forMs: number;
  };
  /**
   * The event loop was blocked for longer than `maxLoopDelayMs`: a handler computes, or waits synchronously. Told every ten
   * seconds at most.
   */
  'loop.blocked': {
    /** Its id in the table of workers. */
    readonly workerId: string;
    /** How long it was blocked. */
    readonly blockedMs: number;
    /** What ran meanwhile; one of them did it. */
    readonly tasks: readonly TaskReference[];
  };
  /** A connection of the worker was lost; it connects again. */
  'connection.lost': {
    /** `session` (behind a pooler `lease`), or `control`, which claims. */
    readonly connection: string;
    /** Why. */
    readonly error: unknown;
  };
  /** The connection is back. */
  'connection.restored': {
    /** Which one. */
    readonly connection: string;
  };
  /** A routine has run in this process. */
  'routine.finished': {
    /** `retry`, `notify` or `purge`. */
    readonly routine: 'retry' | 'notify' | 'purge';
    /** How many rows it changed. */
    readonly affected: number;
    /** How long it took. */
    readonly durationMs: number;
  };
  /** A routine has failed, or another part of the worker that repeats; it runs again at its next turn. */
  'routine.failed': {
    /**
     * `retry`, `notify` or `purge`; `schedules`, which inserts recurring tasks and is told once until it works again; or `recover`,
     * which looks for workers that are lost.
     */
    readonly routine: 'retry' | 'notify' | 'purge' | 'schedules' | 'recover';
    /** Why. */
    readonly error: unknown;
  };
  /** Something works, but deserves a look. */
  warning: {
    /** What, and what to do. */
    readonly message: string;
  };
  /** Something is worth a line in the log, and no cause for worry. */
  notice: {
    /** What. */
    readonly message: string;
  };
}

/** The name of an event: a key of {@link QueueEventMap}. */
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
   * The events of that name as an observable, which never completes.
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
