import { ringFor, type RingRequest } from '../../coordination/ring.js';
import type { TaskRecord, TaskStatus } from '../../task.js';
import { readTaskRecord } from '../columns.js';
import type { NewTask, TaskInserts, UniqueKey } from '../inserts.js';
import { TaskDuplicateError } from '../../errors.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import { repeated } from './connections/transactions.js';
import {
  findUnique,
  insertedId,
  insertedIds,
  insertKeyed,
  insertRows,
  insertUnique,
  listEquivalent,
  readInsertedId,
  replaceUnique,
  valuesOf,
} from './statements/insert.js';

/** Rings for inserts that the library commits itself. A ring inside of a transaction would be heard before its commit. */
export interface InsertBell {
  ring(ring: RingRequest): void;
}

/** What tasks are inserted into. */
export interface InsertTarget {
  /** Quoted. */
  readonly table: string;
  /** The largest text that the server takes. */
  readonly maxPacketBytes: number;
}

/** What {@link MysqlInserts} runs without a transaction of the caller's. */
export interface InsertConnections {
  /** Runs work in a transaction of its own. */
  transaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T>;
  /** Runs statements one after the other on one connection; each commits by itself. */
  use<T>(work: (handle: SqlHandle) => Promise<T>): Promise<T>;
  /** True where its texts may have several statements, of which the last one is answered. */
  readonly takesSeveral: boolean;
}

/** Rows of one statement: more gain nothing. */
const mostRows = 1_000;
/** What a row has besides its texts. */
const rowBytes = 200;

/** {@link TaskInserts} in the queue table. */
export class MysqlInserts implements TaskInserts {
  readonly #connections: InsertConnections;
  readonly #target: () => InsertTarget;
  readonly #bell: InsertBell | undefined;

  /** @param target asked for by each insert, because a queue learns its database when it is prepared */
  constructor(connections: InsertConnections, target: () => InsertTarget, bell?: InsertBell) {
    this.#connections = connections;
    this.#target = target;
    this.#bell = bell;
  }

  async insert(task: NewTask, tx?: SqlHandle): Promise<string> {
    const { unique } = task;
    if (unique) {
      const sentAt = performance.now();
      const { table } = this.#target();
      const insert = (handle: SqlHandle) => insertOneUnique(handle, table, task, unique, tx !== undefined);
      // Alone it is one statement that changes anything, and may meet others of its key.
      const { id, isNew } = await (tx ? insert(tx) : this.#repeated(insert));
      if (!isNew && unique.onConflict === 'reject') throw new TaskDuplicateError(id, unique.key);
      if (!tx) this.#bell?.ring(ringFor([task], sentAt));
      return id;
    }
    const [id] = await this.insertMany([task], tx);
    if (id === undefined) throw new Error('the server returned no id');
    return id;
  }

  async insertMany(tasks: readonly NewTask[], tx?: SqlHandle): Promise<string[]> {
    const { table, maxPacketBytes } = this.#target();
    const unique = tasks.filter((task) => task.unique).toSorted(byKey);
    const others = unique.length === 0 ? tasks : tasks.filter((task) => !task.unique);
    const blocks = blocksOf(others, maxPacketBytes / 2);
    const inOne = !tx && this.#connections.takesSeveral;
    const insertAll = async (handle: SqlHandle): Promise<string[]> => {
      const ids: string[] = [];
      for (const block of blocks) ids.push(...(await insertBlock(handle, table, block, inOne)));
      if (unique.length === 0) return ids;
      const idOf = new Map(others.map((task, index) => [task, ids[index] ?? '']));
      for (const task of unique) {
        if (task.unique)
          idOf.set(task, (await insertOneUnique(handle, table, task, task.unique, tx !== undefined)).id);
      }
      return tasks.map((task) => idOf.get(task) ?? '');
    };
    if (tx) return insertAll(tx);
    const sentAt = performance.now();
    const ids = await (blocks.length > 1 || unique.length > 0
      ? this.#connections.transaction(insertAll)
      : this.#repeated(insertAll));
    if (tasks.length > 0) this.#bell?.ring(ringFor(tasks, sentAt));
    return ids;
  }

  /** What is one statement is a transaction: it is sent again when it loses to others, to the other node of Galera say. */
  #repeated<T>(insert: (handle: SqlHandle) => Promise<T>): Promise<T> {
    return this.#connections.use((handle) =>
      repeated(
        (text) => handle.query(text),
        () => insert(handle),
      ),
    );
  }

  async listEquivalent(
    task: NewTask,
    statuses: readonly TaskStatus[],
    tx?: SqlHandle,
  ): Promise<TaskRecord[]> {
    const { externalKey, payloadHash, origin, destination, topic, tenant, group } = task;
    const values = [externalKey, payloadHash, origin, destination, topic, tenant, group];
    const ask = (handle: SqlHandle): Promise<Record<string, unknown>[]> =>
      askHandle(handle, listEquivalent(this.#target().table, statuses), values);
    return (await (tx ? ask(tx) : this.#connections.use(ask))).map(readTaskRecord);
  }
}

/**
 * Looks before it inserts: an insert that finds its key taken locks the task that has it until the transaction ends, so that nobody
 * runs it.
 *
 * @param isUsers true for a transaction of the user's, which may see an old snapshot: what is found is looked at as it is now
 */
async function insertOneUnique(
  handle: SqlHandle,
  table: string,
  task: NewTask,
  { stored, onConflict }: UniqueKey,
  isUsers: boolean,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const find = async (isCurrent: boolean): Promise<Record<string, unknown> | undefined> =>
    (await askHandle(handle, findUnique(table, isCurrent), [stored]))[0];
  const told = async (): Promise<ReturnType<typeof readInsertedId>> => {
    const [row] = await askHandle(handle, insertedId, []);
    return readInsertedId(String(row?.['id']));
  };
  const values = valuesOf(task);
  const replaces = onConflict === 'replace';
  for (let isAgain = false; ; isAgain = true) {
    let found = await find(isAgain && isUsers);
    if (found && replaces) {
      await handle.query(replaceUnique(table), [...values, found['attempt'], stored]);
      const replaced = await told();
      if (replaced) return replaced;
    } else {
      if (found && isUsers) found = await find(true);
      if (found) return { id: String(found['id']), isNew: false };
    }
    await handle.query(insertUnique(table), [...values, stored]);
    const made = await told();
    // The task of somebody who was faster is replaced as well; in a transaction of the user's it is locked by now.
    if (made && (made.isNew || !replaces)) return made;
    if (made) continue;
    // Another index of the user's was in the way: the server says which.
    await handle.query(insertKeyed(table), [...values, stored]);
    const [inserted] = await askHandle(handle, insertedId, []);
    return { id: String(inserted?.['id']), isNew: true };
  }
}

/** Two transactions that insert the same keys wait for each other in one direction. */
function byKey(one: NewTask, other: NewTask): number {
  return (one.unique?.stored ?? '') < (other.unique?.stored ?? '') ? -1 : 1;
}

/** @param inOne true: both statements take one round trip */
async function insertBlock(
  handle: SqlHandle,
  table: string,
  tasks: readonly NewTask[],
  inOne: boolean,
): Promise<string[]> {
  const [insert, values] = [insertRows(table, tasks.length), tasks.flatMap(valuesOf)];
  if (!inOne) await handle.query(insert, values);
  const [row] = await (inOne
    ? askHandle(handle, `${insert};\n${insertedIds}`, values)
    : askHandle(handle, insertedIds, []));
  const [first, step] = [BigInt(String(row?.['id'])), BigInt(String(row?.['step']))];
  return tasks.map((_, index) => String(first + BigInt(index) * step));
}

/** Divides tasks into those of one statement each, which the server must take as one text. */
function blocksOf(tasks: readonly NewTask[], mostBytes: number): readonly (readonly NewTask[])[] {
  const blocks: NewTask[][] = [];
  let bytes = Infinity;
  for (const task of tasks) {
    const size = rowBytes + textBytes(task);
    const block = blocks.at(-1);
    if (!block || block.length === mostRows || bytes + size > mostBytes) {
      blocks.push([task]);
      bytes = size;
    } else {
      block.push(task);
      bytes += size;
    }
  }
  return blocks;
}

/** Quotes and backslashes are doubled on their way; half of what the server takes is left for them. */
function textBytes({ payload, metadata }: NewTask): number {
  return Buffer.byteLength(payload ?? '') + (metadata ? JSON.stringify(metadata).length : 0);
}
