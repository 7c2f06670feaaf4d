import { encodeTask } from '../../lib/client/task-input.js';
import { assembleCore, type QueueCore } from '../../lib/assembly/core.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../lib/events.js';
import { statusColumn } from '../../lib/storage/columns.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
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
    clear: async () => {
      await pool.query('truncate tasks, effect');
    },
    close: async () => {
      await Promise.all(cores.map((core) => core.close()));
      await server.drop();
    },
  };
}
