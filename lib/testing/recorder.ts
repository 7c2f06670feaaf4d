import { TaskDuplicateError } from '../errors.js';
import type { Failure, FailureOutcome, RetryTime } from '../storage/attempt.js';
import type { AttemptStore } from '../storage/attempts.js';
import { onlySettled, type Claims } from '../storage/claims.js';
import { column, columnLength, readTaskRecord, statusColumn } from '../storage/columns.js';
import type { QueueDatabase } from '../storage/database.js';
import { defaultPriority, type NewTask, type TaskInserts, type UniqueKey } from '../storage/inserts.js';
import { routeOf } from '../storage/route.js';
import type { ScheduleStore } from '../storage/schedules.js';
import type { SubscriptionStore } from '../storage/subscriptions.js';
import { readHeldTask } from '../storage/task-row.js';
import type { TestAccess } from '../storage/test-access.js';
import type { GroupedTransaction, TaskTransactions } from '../storage/transactions.js';
import type { WorkerRegistry } from '../storage/workers.js';
import type { TaskRecord } from '../task.js';
import { needsDatabase, refusing } from './needs-database.js';

/** An attempt as a driver would read it: text by column. */
type Row = Record<string, string | null>;

/** What makes two tasks equivalent. */
const compared = [
  'payload',
  'externalKey',
  'origin',
  'destination',
  'topic',
  'tenant',
  'group',
] as const satisfies (keyof NewTask & keyof TaskRecord)[];

/**
 * What a queue has in place of a database: it keeps the tasks that were inserted, and how the ones ended that a tester ran. No
 * task follows from another, time does not pass, and nothing is undone: that takes a database.
 */
export class Recorder implements QueueDatabase {
  /** Oldest first. */
  readonly #rows = new Map<string, Row>();
  /** Ids by unique key. */
  readonly #unique = new Map<string, string>();
  /** Topics of the subscriptions that methods declare. */
  readonly #topics = new Map<string, string>();
  #ids = 0;

  readonly inserts: TaskInserts = {
    insert: async (task) => this.#insert(task, task.unique?.onConflict),
    insertMany: async (tasks) => tasks.map((task) => this.#insert(task, 'return')),
    listEquivalent: async (task, statuses) =>
      this.#records.filter(
        (record) =>
          statuses.some((status) => status === record.status) &&
          compared.every((name) => record[name] === task[name]),
      ),
  };

  readonly access = refusing<TestAccess>('travel()', {
    inserted: async () => this.#records.filter(({ subscriptionId }) => subscriptionId === null),
    attempts: async (id) => this.#records.filter((record) => record.id === id),
    hold: async (id, _workerId, delivery) =>
      this.#change(id, {
        [column.status]: statusColumn.processing,
        [column.startedAt]: instant(),
        reserva: '1',
        ...(delivery && {
          [column.subscriptionId]: delivery.subscriptionId,
          [column.payload]: delivery.envelope,
        }),
      }),
    subscription: async (id) => {
      const topic = this.#topics.get(id);
      return topic === undefined ? undefined : { id, [column.topic]: topic };
    },
    clear: async () => this.#rows.clear(),
  });

  readonly attempts = refusing<AttemptStore>('drain()', {
    heldBy: async (workerId) =>
      [...this.#rows.values()]
        .filter((row) => row[column.status] === statusColumn.processing)
        .map((row) => readHeldTask({ ...row, route: ownRoute(row) }, workerId, queue)),
    loadPayload: async (id) => this.#rows.get(id)?.[column.payload] ?? null,
    noteProgress: async () => undefined,
    failMany: async (failures) => failures.map((failure) => this.#fail(failure)),
    snoozeMany: async (snoozed) => snoozed.map((failure) => this.#snooze(failure)),
  });

  readonly transactions = refusing<TaskTransactions>('ctx.completeIn()', {
    begin: () => new NoTransaction(),
    beginGroup: () => ({
      most: 1,
      broken: false,
      next: () => new NoTransaction(),
      commit: async () => undefined,
    }),
  });

  readonly workers = refusing<WorkerRegistry>('a worker', { register: async () => '1' });

  readonly subscriptions = refusing<SubscriptionStore>('a subscription', {
    declare: async (declared) => {
      for (const { id, topic } of declared) if (topic !== undefined) this.#topics.set(id, topic);
      return undefined;
    },
  });

  readonly schedules = refusing<ScheduleStore>('a schedule', {
    compare: async () => ({ unwritten: [], foreign: [] }),
  });

  readonly admin: QueueDatabase['admin'] = refusing('QueueAdmin');
  readonly reports: QueueDatabase['reports'] = refusing('QueueAdmin');
  readonly endpoints: QueueDatabase['endpoints'] = refusing('a webhook');
  readonly upkeep: QueueDatabase['upkeep'] = refusing('a purge');

  claimsOf(): Claims {
    return refusing<Claims>('drain()', {
      settleAndClaim: async (completions) => {
        for (const { id, message, result } of completions) {
          this.#change(id, {
            [column.status]: statusColumn.succeeded,
            [column.message]: message,
            [column.result]: result,
            [column.finishedAt]: instant(),
          });
        }
        return onlySettled(undefined);
      },
    });
  }

  classify(): 'other' {
    return 'other';
  }

  async explainRefusal(): Promise<undefined> {}

  async findHidden(): Promise<undefined> {}

  async close(): Promise<void> {}

  get #records(): readonly TaskRecord[] {
    return [...this.#rows.values()].map(readTaskRecord);
  }

  #insert(task: NewTask, onConflict: UniqueKey['onConflict'] | undefined): string {
    const { unique } = task;
    const taken = unique && this.#holderOf(unique.stored);
    const id = taken?.[column.id] ?? String((this.#ids += 1));
    if (!taken || onConflict === 'replace') this.#rows.set(id, { ...rowOf(task), [column.id]: id });
    else if (onConflict === 'reject') throw new TaskDuplicateError(id, unique.key);
    if (unique) this.#unique.set(unique.stored, id);
    return id;
  }

  /** The task that has a unique key: until it starts (`p:`), until it has ended (`v:`), or as long as it is kept (`w:`). */
  #holderOf(key: string): Row | undefined {
    const row = this.#rows.get(this.#unique.get(key) ?? '');
    const hasStarted = row?.['reserva'] !== '0';
    const hasEnded = row?.[column.finishedAt] != null && row[column.retried] !== 'true';
    const isFree = key.startsWith('p:') ? hasStarted : key.startsWith('v:') && hasEnded;
    return isFree ? undefined : row;
  }

  /** Nothing is left of an attempt that its handler cleared away. */
  #change(id: string, columns: Row): void {
    Object.assign(this.#rows.get(id) ?? {}, columns);
  }

  #fail({ id, message, note, error, next }: Failure): FailureOutcome {
    const nextMs = next && this.#timeOf(next, id);
    this.#change(id, {
      [column.status]: statusColumn.failed,
      [column.message]: message.slice(0, columnLength.message - note.length) + note,
      [column.error]: error,
      [column.nextAttemptAt]: nextMs === undefined ? null : instant(nextMs),
      [column.retried]: String(next !== undefined),
      [column.exhausted]: String(next === undefined),
      [column.finishedAt]: instant(),
    });
    return {
      id,
      nextAttemptInMs: nextMs === undefined ? undefined : nextMs - Date.now(),
      deadId: undefined,
    };
  }

  #snooze({ id, message, next }: Failure): FailureOutcome {
    const untilMs = next ? this.#timeOf(next, id) : Date.now();
    this.#change(id, {
      [column.status]: statusColumn.scheduled,
      [column.message]: message.slice(0, columnLength.message),
      [column.dueAt]: instant(untilMs),
      [column.startedAt]: null,
    });
    return { id, nextAttemptInMs: untilMs - Date.now(), deadId: undefined, snoozed: true };
  }

  #timeOf(next: RetryTime, id: string): number {
    if (next.kind === 'at') return next.date.getTime();
    const due = next.kind === 'after-due' ? this.#rows.get(id)?.[column.dueAt] : undefined;
    return Date.parse(due ?? instant()) + next.delayMs;
  }
}

/** The transaction of a handler: whoever uses it fails. */
class NoTransaction implements GroupedTransaction {
  opened = false;
  readonly over = Promise.resolve();
  readonly disturbed = false;

  async query(): Promise<never> {
    this.opened = true;
    throw needsDatabase('ctx.db');
  }

  async client(): Promise<never> {
    this.opened = true;
    throw needsDatabase('ctx.client()');
  }

  /** Of a handler that has swallowed the error. */
  async complete(): Promise<never> {
    throw needsDatabase('ctx.db');
  }

  async rollback(): Promise<void> {}

  destroy(): void {}
}

/** What the keys of its tasks are made of. */
const queue = { identity: 'recorded', qualifiedName: 'recorded' };

function rowOf(task: NewTask): Row {
  const dueMs = task.dueAt === null ? Date.now() + (task.delayMs ?? 0) : Date.parse(task.dueAt);
  return {
    [column.topic]: task.topic,
    [column.payload]: task.payload,
    [column.externalKey]: task.externalKey,
    [column.origin]: task.origin,
    [column.destination]: task.destination,
    [column.tenant]: task.tenant,
    [column.group]: task.group,
    [column.priority]: String(task.priority ?? defaultPriority),
    [column.publication]: String(task.publication),
    [column.metadata]: task.metadata && JSON.stringify(task.metadata),
    [column.dueAt]: instant(dueMs),
    [column.firstDueAt]: instant(dueMs),
    [column.status]: dueMs > Date.now() ? statusColumn.scheduled : statusColumn.pending,
    reserva: '0',
    perdas: '0',
  };
}

function ownRoute(row: Row): string {
  const { [column.topic]: topic = null, [column.subscriptionId]: subscriptionId = null } = row;
  return routeOf({ publication: false, dead: false, subscriptionId, topic, losses: 0 });
}

function instant(ms = Date.now()): string {
  return new Date(ms).toISOString();
}
