import { beforeAll } from 'vitest';
import { TaskHandler, type HandlerOptions, type TaskContext } from '../../../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../../../support/queue-app.js';
import { until } from '../../../support/waiting.js';
import { useQueue, type AttemptRow, type QueueBench } from '../../queue-bench.js';
import { ownSql } from '../../../support/run-database.js';

/** What one task does after it has left its effect. `run` is 1 when its handler is called for the first time. */
export type Act = (ctx: TaskContext, run: number) => unknown;

/** One effect: the attempt that left it and the transaction it came with. */
export interface Effect {
  readonly task: string;
  readonly xid: string;
}

/** What became of the tasks of a group. */
export interface GroupOutcome {
  readonly rows: readonly AttemptRow[];
  /** How often each task's handler was called. */
  readonly runs: readonly number[];
  /** How many effects each task has. */
  readonly effects: readonly number[];
  /** Transactions that the effects came with, each once, in the order of the tasks. */
  readonly transactions: readonly string[];
}

/** Tasks of one claim, with a grouped handler that does what each is told to. */
export interface GroupBench extends QueueBench {
  /** Inserts one task for each act, in this order, and starts the worker, unless told not to: one claim takes them all. */
  begin(acts: readonly Act[], options?: GroupOptions): Promise<StartedGroup>;
  /** The same, until all of them have ended. */
  run(acts: readonly Act[], options?: GroupOptions): Promise<GroupOutcome>;
  effects(): Promise<readonly Effect[]>;
}

export interface GroupOptions extends QueueAppOptions {
  readonly handler?: HandlerOptions;
}

export interface StartedGroup extends QueueApp {
  readonly ids: readonly string[];
  readonly runs: readonly number[];
  readonly outcome: () => Promise<GroupOutcome>;
}

/** Leaves a row that knows its transaction. */
export const leaveEffect = ({ db, task }: TaskContext) =>
  db.query(ownSql('insert into effect (task) values ($1)'), [task.id]);

export function useGroups(): GroupBench {
  const bench = useQueue('effect');
  beforeAll(() =>
    bench.pool.query(`
      create table parent (id bigint primary key);
      create table effect (task bigint not null, xid xid8 not null default pg_current_xact_id(),
        parent bigint references parent deferrable initially deferred)`),
  );

  const effects = async (): Promise<readonly Effect[]> =>
    (await bench.pool.query<Effect>('select task, xid::text from effect order by task')).rows;

  const begin = async (acts: readonly Act[], options: GroupOptions = {}): Promise<StartedGroup> => {
    const { handler, autoStart = true, ...appOptions } = options;
    const runs = acts.map(() => 0);
    class Grouped {
      @TaskHandler('work', { grouped: true, maxAttempts: 1, ...handler })
      async work({ index }: { index: number }, ctx: TaskContext): Promise<unknown> {
        runs[index] = (runs[index] ?? 0) + 1;
        await leaveEffect(ctx);
        return acts[index]?.(ctx, runs[index]);
      }
    }
    // Inserted first: a claim that is under way meanwhile may see some of them, and the others are another group.
    const app = await bench.start({
      handlers: [Grouped],
      concurrency: 10,
      ...appOptions,
      autoStart: false,
    });
    const ids = await app.queue.insertTasks(acts.map((_, index) => ({ topic: 'work', payload: { index } })));
    if (autoStart) await app.worker.start();
    const outcome = async (): Promise<GroupOutcome> => {
      const rows = await Promise.all(ids.map((id) => bench.ended(id)));
      const left = await effects();
      return {
        rows,
        runs,
        effects: ids.map((id) => left.filter(({ task }) => task === id).length),
        transactions: [...new Set(left.map(({ xid }) => xid))],
      };
    };
    return { ...app, ids, runs, outcome };
  };

  return Object.assign(bench, {
    begin,
    run: async (acts: readonly Act[], options?: GroupOptions) => (await begin(acts, options)).outcome(),
    effects,
  });
}

/** Does nothing more. */
export const succeed: Act = () => undefined;

/** Resolves when no connection of a handler is in a transaction. */
export async function noTransaction({ pool }: Pick<QueueBench, 'pool'>): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity
       where datname = current_database() and application_name like '%pool' and xact_start is not null`,
    );
    return rows.length === 0;
  }, 'the end of the transactions');
}
