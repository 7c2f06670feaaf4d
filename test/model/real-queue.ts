import type { Pool } from 'pg';
import { assembleCore, type QueueCore } from '../../lib/assembly/core.js';
import { QueueEvents } from '../../lib/events.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { SharedSessions } from '../../lib/storage/postgres/connections/shared-sessions.js';
import { statusColumn } from '../../lib/storage/columns.js';
import type { Claims } from '../../lib/storage/claims.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
import type { WorkerId } from '../../lib/storage/attempt.js';
import type { TestDatabase } from '../support/database.js';
import { layoutOfRun } from '../support/queue-app.js';
import { createEffectTable } from '../support/worker-process.js';
import type { Place, Row, State, Status } from './state.js';
import type { Setting } from './step.js';

/** A worker as far as the database knows it: a database of its own, and an id. */
export interface RealWorker {
  readonly id: WorkerId;
  readonly database: QueueDatabase;
  readonly claims: Claims;
}

/** The queue that the model is a model of: real storages, one per worker, on one database. */
export class RealQueue {
  readonly workers: readonly RealWorker[];
  readonly pool: Pool;
  readonly #cores: readonly QueueCore[];
  /** Ids of the rows of every task, purged ones included, in the model's order. */
  #ids: string[][] = [];

  private constructor(pool: Pool, cores: readonly QueueCore[], workers: readonly RealWorker[]) {
    this.pool = pool;
    this.#cores = cores;
    this.workers = workers;
  }

  static async start(database: TestDatabase, count: number): Promise<RealQueue> {
    await createEffectTable(database);
    const options = resolveOptions({ connection: database.url, queue: 'tasks', ...layoutOfRun() }, {});
    const cores: QueueCore[] = [];
    const workers: RealWorker[] = [];
    for (let place = 0; place < count; place += 1) {
      const core = await assembleCore(options, new QueueEvents(), new SharedSessions());
      cores.push(core);
      const description = {
        host: 'model',
        pid: place,
        version: '0',
        concurrency: 2,
        routes: [],
        deadRoutes: [],
      };
      const id = await core.database.workers.register(description);
      const claims = core.database.claimsOf(id, { concurrency: 2, warn: () => undefined });
      workers.push({ id, database: core.database, claims });
    }
    return new RealQueue(database.pool, cores, workers);
  }

  async clear(tasks: number): Promise<void> {
    this.#ids = Array.from({ length: tasks }, () => []);
    await this.pool.query('truncate tasks, effect');
  }

  async close(): Promise<void> {
    await Promise.all(this.#cores.map((core) => core.close()));
  }

  async insert(task: number, scheduled: boolean): Promise<void> {
    if (scheduled) {
      await this.pool.query(`insert into tasks (processo, payload, status) values ($1, '{}', 'agendada')`, [
        topicOf(task),
      ]);
    } else await this.#cores[0]?.client.insertTask({ topic: topicOf(task), payload: {} });
  }

  worker(place: number): RealWorker {
    const found = this.workers[place];
    if (!found) throw new Error(`there is no worker ${place}`);
    return found;
  }

  id({ task, row }: Place): string {
    const id = this.#ids[task]?.[row];
    if (id === undefined) throw new Error(`row ${task}/${row} is not in the table`);
    return id;
  }

  /** All rows, task by task, as the model would write them; new ones get their places. */
  async read(): Promise<readonly (readonly Row[])[]> {
    const { rows } = await this.pool.query<Record<string, unknown>>(
      `select f.*, (select count(*)::int from effect e
         where e.task_root = coalesce(f.id_inicial, f.id) and e.attempt = f.tentativa) as effects
       from tasks f order by f.id`,
    );
    for (const row of rows) {
      const ids = this.#ids[taskOf(row)];
      if (ids && !ids.includes(String(row['id']))) ids.push(String(row['id']));
    }
    return this.#ids.map((_, task) =>
      rows.filter((row) => taskOf(row) === task).map((row) => this.#see(row)),
    );
  }

  /** Places of the rows that a purge would find, however young. */
  async purgeable(): Promise<readonly Place[]> {
    const look = { olderThanDays: -1, after: undefined, rows: 1_000, blockRows: 1_000 };
    const { blocks } = await this.worker(0).database.upkeep.findPurgeable(look);
    const found = new Set(blocks.flat());
    return this.#ids.flatMap((ids, task) => ids.flatMap((id, row) => (found.has(id) ? [{ task, row }] : [])));
  }

  #see(row: Record<string, unknown>): Row {
    const status = statusOf(row['status']);
    const ids = this.#ids[taskOf(row)] ?? [];
    const place = (id: unknown): number | undefined => (id === null ? undefined : ids.indexOf(id as string));
    return {
      status,
      attempt: Number(row['tentativa']),
      dead: row['dead'] === true,
      first: place(row['id_inicial']),
      previous: place(row['id_anterior']),
      live: place(row['live_id']),
      payload: row['payload'] !== null,
      executor:
        row['executor'] === null
          ? undefined
          : this.workers.findIndex(({ id }) => id === String(row['executor'])),
      reservation: Number(row['reserva']),
      losses: Number(row['perdas']),
      retried: row['reenfileirado'] === true,
      exhausted: row['estouro_tentativas'] === true,
      effects: Number(row['effects']),
      purged: false,
      usurped: false,
    };
  }
}

/** What the model says that the table holds. */
export function expectedRows(state: State): readonly (readonly Row[])[] {
  return state.tasks.map((rows) => rows.filter(({ purged }) => !purged));
}

export function expectedPurgeable({ tasks }: State, { rules }: Setting): readonly Place[] {
  return tasks.flatMap((rows, task) =>
    rows.flatMap((_, row) => (rules.mayPurge(rows, row) ? [{ task, row }] : [])),
  );
}

/** Answers in an order of their own: the database gives them in any. */
export function inOrder<T>(answers: readonly T[]): readonly T[] {
  return answers.toSorted((one, other) => String(one).localeCompare(String(other)));
}

export function topicOf(task: number): string {
  return `task ${task}`;
}

function taskOf(row: Record<string, unknown>): number {
  return Number(String(row['processo']).slice('task '.length));
}

function statusOf(text: unknown): Status {
  const found = Object.entries(statusColumn).find(([, name]) => name === text);
  if (!found) throw new Error(`the table has a status '${String(text)}'`);
  return found[0] as Status;
}
