import type { RingBeside } from '../../coordination/bell.js';
import { ringFor, type RingRequest, ringTextFor } from '../../coordination/ring.js';
import type { TaskRecord, TaskStatus } from '../../task.js';
import { readBoolean, readTaskRecord } from '../columns.js';
import { uniqueAttempts, type NewTask, type TaskInserts, type UniqueKey } from '../inserts.js';
import { TarefaError, TaskDuplicateError } from '../../errors.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import { isRingRefused } from './connections/without-ring.js';
import { quoteTableName } from './identifiers.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { parseTableName } from '../../values/table-name.js';
import { askBytes, queryBytes } from './readable-rows.js';
import { listEquivalent } from './statements/equivalent.js';
import {
  insertByFunction,
  insertMany,
  insertManyUnique,
  insertOne,
  insertOrReplace,
  insertUnique,
} from './statements/insert.js';

/** Rings for inserts that the library commits itself. */
export interface InsertBell {
  /** What it rings on. */
  readonly channel: string;
  readonly ringer: {
    /** True while no ring is on its way. */
    readonly idle: boolean;
    ring(ring: RingRequest): void;
  };
  /** Undefined where the database alone rings. */
  readonly beside?: RingBeside | undefined;
}

/** After a refused ring statements do without for so long. */
const ringsAgainMs = 1_000;

/** ON CONFLICT finds no index that fits. */
const noSuchIndex = '42P10';

/** What tasks are inserted into. */
export interface InsertTarget {
  /** Quoted. */
  readonly table: string;
  /** Name of the queue's function that inserts, quoted; undefined for a queue without one. */
  readonly insertFunction?: string | undefined;
}

/** {@link TaskInserts} in the queue table. */
export class PostgresInserts implements TaskInserts {
  readonly #handle: SqlHandle;
  #table = '';
  #insertFunction: string | undefined;
  /** Texts of `insert_one` by who rings. */
  #insertOne = { table: '', afterwards: '', statement: '' };
  readonly #bell: InsertBell | undefined;
  readonly #inTransaction: RunTransaction | undefined;
  /** Inserts under way that the library commits itself. */
  #committing = 0;
  /** Until then no statement rings by itself, because the queue of notifications was full. */
  #ringsAgainAt = -Infinity;

  /**
   * @param handle used without a transaction of the caller's
   * @param bell without one the table's trigger rings
   * @param inTransaction makes several statements one; without it each commits by itself
   */
  constructor(handle: SqlHandle, bell?: InsertBell, inTransaction?: RunTransaction) {
    this.#inTransaction = inTransaction;
    this.#handle = handle;
    this.#bell = bell;
  }

  /** The table is there: inserts go into it from now on. */
  into({ table, insertFunction }: InsertTarget): this {
    this.#table = table;
    this.#insertFunction = insertFunction;
    const [afterwards, statement] = [insertOne(table, 'afterwards'), insertOne(table, 'statement')];
    this.#insertOne = { table: insertOne(table, 'table'), afterwards, statement };
    return this;
  }

  async insert(task: NewTask, tx?: SqlHandle): Promise<string> {
    if (task.unique) return this.#insertUnique(task, task.unique, tx);
    const values = valuesOf(task);
    const rows = await (tx || !this.#bell
      ? this.#insertWithin(tx ?? this.#handle, task, values)
      : this.#commitOne(task, values, this.#bell));
    return String(rows[0]?.['id']);
  }

  /** In a transaction of the caller's, whose commit rings. */
  #insertWithin(tx: SqlHandle, task: NewTask, values: unknown[]): Promise<Record<string, unknown>[]> {
    const insertFunction = this.#insertFunction;
    if (!this.#bell || insertFunction === undefined) return ask(tx, this.#insertOne.table, values);
    return ask(tx, insertByFunction(insertFunction), [...values, this.#bell.channel, ringTextFor(task)]);
  }

  /** By the table's own filing and ringing: it is not known before whether there is something to ring for. */
  async #insertUnique(
    task: NewTask,
    { key, stored, onConflict }: UniqueKey,
    tx: SqlHandle | undefined,
  ): Promise<string> {
    const table = this.#table;
    const values = [...valuesOf(task), stored];
    const [text, all] =
      onConflict === 'replace'
        ? [insertOrReplace(table), [...values, this.#bell?.channel ?? null, ringTextFor(task)]]
        : [insertUnique(table), values];
    const sentAt = performance.now();
    const row = await untilSeen(async () => (await ask(tx ?? this.#handle, text, all))[0]);
    const id = String(row['id']);
    const isOther = onConflict !== 'replace' && !readBoolean(row['is_new']);
    if (isOther && onConflict === 'reject') throw new TaskDuplicateError(id, key);
    if (!tx && !isOther) this.#bell?.beside?.(ringFor([task], sentAt));
    return id;
  }

  async #insertManyUnique(tasks: readonly NewTask[], handle: SqlHandle): Promise<string[]> {
    const plain = tasks.filter(({ unique }) => !unique).length;
    const idOf = new Map<string, string>();
    const others: string[] = [];
    let left = tasks;
    return untilSeen(async () => {
      const values = [JSON.stringify(left.map(columnsOf))];
      for (const { id, key } of await ask(handle, insertManyUnique(this.#table), values)) {
        if (key === null) others.push(String(id));
        else idOf.set(key as string, String(id));
      }
      // A trigger took keys away: the next round would insert these tasks once more.
      if (others.length !== plain) throw unseen();
      left = tasks.filter(({ unique }) => unique && !idOf.has(unique.stored));
      if (left.length > 0) return undefined;
      const inOrder = ascending(others).values();
      return tasks.map(({ unique }) => (unique ? idOf.get(unique.stored) : inOrder.next().value) ?? '');
    });
  }

  async insertMany(tasks: readonly NewTask[], tx?: SqlHandle): Promise<string[]> {
    if (tasks.some(({ unique }) => unique)) {
      if (tx) return this.#insertManyUnique(tasks, tx);
      const sentAt = performance.now();
      const ids = await (this.#inTransaction
        ? this.#inTransaction((own) => this.#insertManyUnique(tasks, own))
        : this.#insertManyUnique(tasks, this.#handle));
      this.#bell?.beside?.(ringFor(tasks, sentAt));
      return ids;
    }
    const table = this.#table;
    const values = [JSON.stringify(tasks.map(columnsOf))];
    const rows =
      tx || !this.#bell
        ? await ask(tx ?? this.#handle, insertMany(table, 'table'), values)
        : await this.#commit(tasks, insertMany(table, 'afterwards'), values, this.#bell);
    return ascending(rows.map((row) => String(row['id'])));
  }

  async listEquivalent(
    task: NewTask,
    statuses: readonly TaskStatus[],
    tx?: SqlHandle,
  ): Promise<TaskRecord[]> {
    const { externalKey, payloadHash, origin, destination, topic, tenant, group } = task;
    const values = [externalKey, payloadHash, origin, destination, topic, tenant, group];
    const text = listEquivalent(this.#table, statuses);
    const rows = tx ? await askBytes(tx, text, values) : (await queryBytes(this.#handle, text, values)).rows;
    return rows.map(readTaskRecord);
  }

  /**
   * The statement itself rings when no other insert could share its ring: that saves a round trip. A NOTIFY makes commits
   * wait for each other, so inserts that run side by side share one ring afterwards.
   */
  async #commitOne(task: NewTask, values: unknown[], bell: InsertBell): Promise<Record<string, unknown>[]> {
    const { afterwards, statement } = this.#insertOne;
    if (this.#committing > 0 || !bell.ringer.idle || performance.now() < this.#ringsAgainAt) {
      return this.#commit([task], afterwards, values, bell);
    }
    const sentAt = performance.now();
    this.#committing += 1;
    try {
      const all = [...values, bell.channel, ringTextFor(task)];
      const { rows } = await this.#handle.query(statement, all);
      bell.beside?.(ringFor([task], sentAt));
      return rows;
    } catch (error) {
      if (!isRingRefused(error)) throw explained(error);
      this.#ringsAgainAt = performance.now() + ringsAgainMs;
    } finally {
      this.#committing -= 1;
    }
    return this.#commit([task], afterwards, values, bell);
  }

  async #commit(
    tasks: readonly NewTask[],
    text: string,
    values: unknown[],
    { ringer, beside }: InsertBell,
  ): Promise<Record<string, unknown>[]> {
    const sentAt = performance.now();
    this.#committing += 1;
    try {
      return await ask(this.#handle, text, values);
    } finally {
      this.#committing -= 1;
      // Also when it failed: its answer may have been lost, not its commit.
      const ring = ringFor(tasks, sentAt);
      ringer.ring(ring);
      beside?.(ring);
    }
  }
}

/** A statement that has waited for another insert of a key does not see that; the next one does. */
async function untilSeen<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < uniqueAttempts; attempt += 1) {
    const seen = await look();
    if (seen !== undefined) return seen;
  }
  throw unseen();
}

function unseen(): TarefaError {
  return new TarefaError(
    'RIGHTS_MISSING',
    'the database neither inserted the task nor shows the task that has its unique key: a trigger of yours changes it, or a policy ' +
      'hides the other task from this role',
  );
}

async function ask(handle: SqlHandle, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  try {
    return await askHandle(handle, text, values);
  } catch (error) {
    throw explained(error);
  }
}

/** What to do about it, where the error does not say that. */
function explained(error: unknown): unknown {
  // Libraries for databases wrap the driver's error.
  const { code, message, cause } = error as Error & { readonly code?: unknown };
  const codes = [code, (cause as { readonly code?: unknown } | undefined)?.code];
  if (codes.includes(noSuchIndex)) {
    return new TarefaError(
      'INPUT_INVALID',
      'unique keys need the unique index of the queue: a queue in partitions has none, others get it with ' +
        '`tarefa migrate`; nothing was inserted',
      { cause: error },
    );
  }
  if (!codes.includes('22P05')) return error;
  return new TarefaError(
    'INPUT_INVALID',
    `a text of the task has a character that the encoding of the database lacks (${message}): leave it out, or keep the queue ` +
      `in a UTF8 database; nothing was inserted`,
    { cause: error },
  );
}

/**
 * Inserts into a table by its name alone, without preparing the queue: the search path finds it, and its trigger rings.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` when the name cannot be that of a table
 */
export function insertsInto(handle: SqlHandle, table: string): TaskInserts {
  const quoted = quoteTableName(parseTableName(table));
  return new PostgresInserts(handle).into({ table: quoted });
}

/** Ids are drawn in the order of the input; rows come back in it as well, but nothing promises that. */
function ascending(ids: string[]): string[] {
  const compare = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);
  const isAscending = ids.every((id, index) => index === 0 || compare(ids[index - 1] ?? '', id) < 0);
  return isAscending ? ids : ids.sort(compare);
}

/** Parameters of `insert_one`. */
function valuesOf(task: NewTask): unknown[] {
  return [
    task.dueAt,
    task.delayMs,
    task.origin,
    task.destination,
    task.topic,
    task.externalKey,
    task.payload,
    task.payloadHash,
    task.tenant,
    task.group,
    task.priority,
    task.publication,
    task.metadata && JSON.stringify(task.metadata),
  ];
}

/**
 * An element of `insert_many`'s parameter: values by column. The database reads every key of every object, so JSON leaves
 * out what the statement would read as its default anyway.
 */
export function columnsOf(task: NewTask): Readonly<Record<string, unknown>> {
  return {
    data_hora: task.dueAt ?? undefined,
    delay_ms: task.delayMs ?? undefined,
    origem: task.origin ?? undefined,
    destino: task.destination ?? undefined,
    processo: task.topic ?? undefined,
    chave_externa: task.externalKey ?? undefined,
    payload: task.payload ?? undefined,
    payload_hash: task.payloadHash ?? undefined,
    tenant: task.tenant ?? undefined,
    grupo_empresarial: task.group ?? undefined,
    prioridade: task.priority ?? undefined,
    pub_sub: task.publication || undefined,
    metadados: task.metadata ?? undefined,
    chave_unica: task.unique?.stored,
  };
}
