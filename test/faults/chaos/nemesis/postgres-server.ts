import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Nemesis } from './nemesis.js';

type Ask = <T>(question: () => Promise<T>) => Promise<T>;

function terminate(pool: Pool, patiently: Ask, purpose: string, condition: string): Nemesis {
  return {
    kind: `terminate ${purpose} connection`,
    strike: async () => {
      // A statement lasts a millisecond: it is waited for.
      const deadline = performance.now() + 1_500;
      for (;;) {
        const { rows } = await patiently(() =>
          pool.query<{ pid: number }>(
            `select a.pid from (
               select pid from pg_stat_activity
               where datname = current_database() and application_name like 'tarefa%' || $1 and ${condition}
               order by random() limit 1
             ) a
             where pg_terminate_backend(a.pid) and exists (select from tasks where status = 'processando')`,
            [purpose],
          ),
        );
        if (rows[0]) return `backend ${rows[0].pid}`;
        if (performance.now() > deadline) return undefined;
        await pause(5);
      }
    },
  };
}

/** Faults that are PostgreSQL's own. */
export function postgresFaults(pool: Pool, patiently: Ask): readonly Nemesis[] {
  return [
    terminate(pool, patiently, 'session', 'true'),
    terminate(pool, patiently, 'control', `state = 'active'`),
    terminate(pool, patiently, 'pool', 'xact_start is not null'),
  ];
}
