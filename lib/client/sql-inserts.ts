import { ringText, type Ringer, type RingRequest } from '../coordination/ringer.js';
import { TarefaError } from '../errors.js';
import { readTaskRecord } from '../storage/columns.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { insertMany, insertOne } from '../storage/postgres/statements/insert.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import { listEquivalent } from './equivalent-tasks.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { EncodedTask } from './task-input.js';
import type { TaskInserts } from './task-inserts.js';

/** Rings for inserts that the library commits itself. */
export interface InsertBell {
  readonly ringer: Ringer;
  /** What it rings on. */
  readonly channel: string;
}

/** Inserts into the queue table. */
export class SqlInserts implements TaskInserts {
  readonly #handle: SqlHandle;
  readonly #table: string;
  readonly #bell: InsertBell | undefined;
  /** Inserts under way that the library commits itself. */
  #committing = 0;

  /**
   * @param handle used without a transaction of the caller's
   * @param table quoted
   * @param bell without one the table rings
   */
  constructor(handle: SqlHandle, table: string, bell?: InsertBell) {
    this.#handle = handle;
    this.#table = table;
    this.#bell = bell;
  }

  async one(task: EncodedTask, tx: SqlHandle | undefined): Promise<string> {
    const values = [
      task.data_hora,
      task.delay_ms,
      task.origem,
      task.destino,
      task.processo,
      task.chave_externa,
      task.payload,
      task.payload_hash,
      task.tenant,
      task.grupo_empresarial,
      task.prioridade,
      task.pub_sub,
      task.metadados && JSON.stringify(task.metadados),
    ];
    const rows =
      tx || !this.#bell
        ? await ask(tx ?? this.#handle, insertOne(this.#table, 'table'), values)
        : await this.#commitOne(task, values, this.#bell);
    return String(rows[0]?.['id']);
  }

  async many(tasks: readonly EncodedTask[], tx: SqlHandle | undefined): Promise<string[]> {
    const values = [JSON.stringify(tasks.map(withoutNulls))];
    const rows =
      tx || !this.#bell
        ? await ask(tx ?? this.#handle, insertMany(this.#table, 'table'), values)
        : await this.#commit(tasks, insertMany(this.#table, 'afterwards'), values, this.#bell);
    return ascending(rows.map((row) => String(row['id'])));
  }

  async equivalent(
    task: EncodedTask,
    statuses: readonly TaskStatus[],
    tx: SqlHandle | undefined,
  ): Promise<TaskRecord[]> {
    const values = [
      task.chave_externa,
      task.payload_hash,
      task.origem,
      task.destino,
      task.processo,
      task.tenant,
      task.grupo_empresarial,
    ];
    const text = listEquivalent(this.#table, statuses);
    // In a transaction of the caller's nothing more can be read once a row could not be.
    const rows = tx ? await ask(tx, text, values) : (await queryReadable(this.#handle, text, values)).rows;
    return rows.map(readTaskRecord);
  }

  /**
   * Rings by the insert itself while there is nothing to ring for together with it: that is one way less. A NOTIFY makes
   * commits wait for each other, so inserts that run side by side are rung for afterwards, many at once.
   */
  async #commitOne(
    task: EncodedTask,
    values: unknown[],
    bell: InsertBell,
  ): Promise<Record<string, unknown>[]> {
    if (this.#committing > 0 || !bell.ringer.idle) {
      return this.#commit([task], insertOne(this.#table, 'afterwards'), values, bell);
    }
    const { highest = 50, later } = ringFor([task], 0);
    const text = ringText(String(highest), later);
    this.#committing += 1;
    try {
      return await ask(this.#handle, insertOne(this.#table, 'statement'), [...values, bell.channel, text]);
    } finally {
      this.#committing -= 1;
    }
  }

  async #commit(
    tasks: readonly EncodedTask[],
    text: string,
    values: unknown[],
    { ringer }: InsertBell,
  ): Promise<Record<string, unknown>[]> {
    const sentAt = performance.now();
    this.#committing += 1;
    try {
      return await ask(this.#handle, text, values);
    } finally {
      this.#committing -= 1;
      // Also when it failed: its answer may have been lost, not its commit.
      ringer.ring(ringFor(tasks, sentAt));
    }
  }
}

/** Ids are drawn in the order of the input; rows come back in it as well, but nothing promises that. */
function ascending(ids: string[]): string[] {
  const compare = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);
  const isAscending = ids.every((id, index) => index === 0 || compare(ids[index - 1] ?? '', id) < 0);
  return isAscending ? ids : ids.sort(compare);
}

/** The database reads every key of every object: what it would read as null anyway is left out. */
function withoutNulls(task: EncodedTask): Partial<EncodedTask> {
  const row: Record<string, unknown> = {};
  for (const key in task) {
    const value = task[key as keyof EncodedTask];
    if (value !== null && value !== false) row[key] = value;
  }
  return row;
}

/** What is told of tasks that were inserted now. */
function ringFor(tasks: readonly EncodedTask[], sentAt: number): RingRequest {
  let [dueMs, highest, later] = [Infinity, -Infinity, false];
  for (const { data_hora: due, delay_ms: delay, prioridade } of tasks) {
    if (due !== null) dueMs = Math.min(dueMs, Date.parse(due) || 0);
    highest = Math.max(highest, prioridade ?? 50);
    later ||= due !== null || Boolean(delay);
  }
  return { later, highest, sentAt, ...(dueMs === Infinity ? {} : { dueMs }) };
}

/** A handle that answers something else is the transaction of a library that has an adapter. */
async function ask(handle: SqlHandle, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  const answer: unknown = await handle.query(text, values);
  if (typeof answer === 'object' && answer !== null && 'rows' in answer && Array.isArray(answer.rows)) {
    return answer.rows as Record<string, unknown>[];
  }
  throw new TarefaError(
    'INPUT_INVALID',
    'tx answered a statement without { rows }: wrap it with fromTypeOrm, fromPrisma, fromDrizzle or another adapter, and roll back',
  );
}
