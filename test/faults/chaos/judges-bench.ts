import type { PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { sortHistory, type Entry } from './history.js';
import type { Oracle } from './oracles/oracle.js';
import { createJudgesTables, readRows } from './schema.js';

/** Columns of a row of the queue. */
export type Columns = Readonly<Record<string, unknown>>;

/** A queue in which a test makes up what has happened; undone after each test. */
export interface JudgesBench {
  readonly database: TestDatabase;
  readonly client: PoolClient;
  /** Puts a row there as it is, past all triggers; returns its id. */
  row(columns: Columns): Promise<string>;
  /** A task that succeeded at once, with its effect and its history. */
  healthy(): Promise<string>;
  effect(root: string, attempt?: number): Promise<void>;
  see(...entries: readonly Entry[]): void;
  /** What the oracle finds: invariant and sentence. */
  ask(oracle: Oracle): Promise<readonly string[]>;
}

/** Sets a bench up for the test file. */
export function useJudges(): JudgesBench {
  let database: TestDatabase;
  let client: PoolClient;
  let entries: Entry[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    const app = await startApp(database, { worker: false });
    await app.close();
    await createJudgesTables(database.pool);
  });
  beforeEach(async () => {
    entries = [];
    client = await database.pool.connect();
    await client.query('begin');
  });
  afterEach(async () => {
    await client.query('rollback');
    client.release();
  });
  afterAll(() => database.drop());

  const insert = async (columns: Columns): Promise<string> => {
    const complete = { processo: 'transaction', origem: 'task-1', payload: '{}', ...columns };
    const names = Object.keys(complete);
    const { rows } = await client.query<{ id: string }>(
      `insert into tasks (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning id::text`,
      Object.values(complete),
    );
    return rows[0]?.id ?? '';
  };
  return {
    get database() {
      return database;
    },
    get client() {
      return client;
    },
    row: async (columns) => {
      await client.query('set local session_replication_role = replica');
      const id = await insert(columns);
      await client.query('set local session_replication_role = origin');
      return id;
    },
    healthy: async () => {
      const id = await insert({});
      await client.query(`update tasks set status = 'processando', executor = 1, reserva = 1 where id = $1`, [
        id,
      ]);
      await client.query(`update tasks set status = 'sucesso' where id = $1`, [id]);
      await client.query(`insert into effect (task_root, attempt, dead, worker) values ($1, 1, false, 'w')`, [
        id,
      ]);
      entries.push(
        { event: 'attempted', key: 'task-1', kind: 'transaction', wall: 0 },
        { event: 'acked', key: 'task-1', wall: Date.now() },
        { event: 'start', key: 'task-1', id, root: id, attempt: 1, dead: false, pid: 1, at: 10 },
        { event: 'transaction', id, backend: 'b1', xid: '1', app: 'a' },
        { event: 'end', id, pid: 1, at: 20 },
      );
      return id;
    },
    effect: async (root, attempt = 1) => {
      await client.query(
        `insert into effect (task_root, attempt, dead, worker) values ($1, $2, false, 'w')`,
        [root, attempt],
      );
    },
    see: (...more) => void entries.push(...more),
    ask: async (oracle) => {
      await readRows(client);
      const found = await oracle({ db: client, history: sortHistory(entries) });
      return found.map(({ invariant, what }) => `${invariant}: ${what}`);
    },
  };
}

/** What history has of a task, for tests that make some up. */
export const attempted = (key: string, kind = 'transaction'): Entry => ({
  event: 'attempted',
  key,
  kind,
  wall: 0,
});
export const acked = (key: string, wall = 0): Entry => ({ event: 'acked', key, wall });
export const started = (fields: object): Entry =>
  ({ event: 'start', key: 'task-1', dead: false, attempt: 1, pid: 1, at: 0, ...fields }) as Entry;
