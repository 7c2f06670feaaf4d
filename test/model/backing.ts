import { encodeTask } from '../../lib/client/task-input.js';
import { assembleCore, type QueueCore } from '../../lib/assembly/core.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../lib/events.js';
import { statusColumn } from '../../lib/storage/columns.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
import { MemoryDatabase } from '../../lib/storage/memory/memory-database.js';
import { createDatabase } from '../support/database.js';
import { layoutOfRun } from '../support/queue-app.js';
import { createEffectTable } from '../support/worker-process.js';

/** A row of the queue's table as it is stored. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** A database that the model is compared with, and what is done to it without the library. */
export interface Backing {
  /** One for each worker, all of them on the same table. */
  readonly databases: readonly QueueDatabase[];
  /** Inserts a row that is due and was filed as scheduled. */
  insertScheduled(topic: string): Promise<void>;
  /** Sets an attempt's status to pending, as an operator might. */
  giveBack(id: string): Promise<void>;
  /** All rows, oldest first, each with how many `effects` its attempt has had. */
  rows(): Promise<readonly StoredRow[]>;
  /** Forgets the effect of a transaction that was refused, where the database does not undo it. */
  undo(root: string, attempt: number): void;
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** The statement by which a handler has its effect. */
export const effect = 'insert into effect values ($1, $2)';

/** Inserts a task of which only its topic counts. */
export async function insertTask({ inserts }: QueueDatabase, topic: string): Promise<void> {
  await inserts.insert(encodeTask({ topic, payload: {} }, false, 1_000));
}

export async function backByPostgres(workers: number): Promise<Backing> {
  const server = await createDatabase();
  await createEffectTable(server);
  const { pool } = server;
  const options = resolveOptions({ connection: server.url, queue: 'tasks', ...layoutOfRun() }, {});
  const cores: QueueCore[] = [];
  for (let place = 0; place < workers; place += 1) {
    cores.push(await assembleCore(options, new QueueEvents()));
  }
  return {
    databases: cores.map(({ database }) => database),
    insertScheduled: async (topic) => {
      const values = [topic, statusColumn.scheduled];
      await pool.query(`insert into tasks (processo, payload, status) values ($1, '{}', $2)`, values);
    },
    giveBack: async (id) => {
      await pool.query('update tasks set status = $2 where id = $1', [id, statusColumn.pending]);
    },
    rows: async () => {
      const counted = `(select count(*)::int from effect e
        where e.task_root = coalesce(f.id_inicial, f.id) and e.attempt = f.tentativa)`;
      const text = `select f.*, ${counted} as effects from tasks f order by f.id`;
      return (await pool.query<StoredRow>(text)).rows;
    },
    undo: () => undefined,
    clear: async () => {
      await pool.query('truncate tasks, effect');
    },
    close: async () => {
      await Promise.all(cores.map((core) => core.close()));
      await server.drop();
    },
  };
}

export function backByMemory(workers: number): Backing {
  const effects = new Map<string, number>();
  const nameOf = (root: unknown, attempt: unknown): string => `${String(root)}/${String(attempt)}`;
  const count = (name: string, change: number): void => {
    effects.set(name, (effects.get(name) ?? 0) + change);
  };
  const db = {
    query: async (_text: string, values: unknown[] = []) => {
      count(nameOf(values[0], values[1]), 1);
      return { rows: [] };
    },
  };
  const database = new MemoryDatabase({ name: 'tasks', now: () => Date.now(), db });
  const { table } = database;
  return {
    databases: Array.from({ length: workers }, () => database),
    insertScheduled: async (topic) => {
      table.add({ processo: topic, payload: '{}', status: statusColumn.scheduled });
    },
    giveBack: async (id) => {
      const row = table.row(id);
      if (row) row['status'] = statusColumn.pending;
    },
    rows: async () =>
      table.rows.map((row) => {
        const attempt = nameOf(row['id_inicial'] ?? row['id'], row['tentativa']);
        return { ...row, effects: effects.get(attempt) ?? 0 };
      }),
    undo: (root, attempt) => count(nameOf(root, attempt), -1),
    clear: async () => {
      table.clear();
      effects.clear();
    },
    close: async () => {},
  };
}
