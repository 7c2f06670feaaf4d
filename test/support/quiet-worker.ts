import type { TestDatabase } from './database.js';
import { until } from './waiting.js';

/** A worker looks again by itself for half a second after its last task. */
const quietMs = 700;

/** Resolves when no worker has asked for tasks for so long that only a ring, a timer or a poll will make it. */
export async function workersAreQuiet({ pool }: Pick<TestDatabase, 'pool'>): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query<{ quiet: boolean }>(
      `select bool_and(state = 'idle' and state_change < clock_timestamp() - $1::int * interval '1 millisecond') as quiet
       from pg_stat_activity where datname = current_database() and application_name like 'tarefa % control'`,
      [quietMs],
    );
    return rows[0]?.quiet === true;
  }, 'the workers are quiet');
}
