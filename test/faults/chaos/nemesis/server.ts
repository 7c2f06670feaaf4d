import { setTimeout as pause } from 'node:timers/promises';
import type { Nemesis } from './nemesis.js';

function terminate(purpose: string, condition: string): Nemesis {
  return {
    kind: `terminate ${purpose} connection`,
    strike: async ({ ask }) => {
      // A statement lasts a millisecond: it is waited for.
      const deadline = performance.now() + 1_500;
      for (;;) {
        const rows = await ask<{ pid: number }>(
          `select a.pid from (
             select pid from pg_stat_activity
             where datname = current_database() and application_name like 'tarefa%' || $1 and ${condition}
             order by random() limit 1
           ) a
           where pg_terminate_backend(a.pid) and exists (select from tasks where status = 'processando')`,
          [purpose],
        );
        if (rows[0]) return `backend ${rows[0].pid}`;
        if (performance.now() > deadline) return undefined;
        await pause(5);
      }
    },
  };
}

/** Whether the failure of a server with rows in flight was seen by anybody. */
async function countRunning(ask: Parameters<Nemesis['strike']>[0]['ask']): Promise<number> {
  const rows = await ask<{ n: number }>(`select count(*)::int as n from tasks where status = 'processando'`);
  return rows[0]?.n ?? 0;
}

const restartServer: Nemesis = {
  kind: 'restart PostgreSQL (fast)',
  group: 'server',
  strike: async ({ cluster, ask }) => {
    const running = await countRunning(ask);
    await cluster.restart('fast');
    return running > 0 ? `${running} rows in flight` : undefined;
  },
};

const crashServer: Nemesis = {
  kind: 'crash PostgreSQL',
  group: 'server',
  strike: async ({ cluster, ask }, random) => {
    const running = await countRunning(ask);
    await cluster.crash();
    await pause(random.whole(0, 1_500));
    await cluster.start();
    return running > 0 ? `${running} rows in flight` : undefined;
  },
};

const lockRows: Nemesis = {
  kind: 'lock rows',
  strike: async ({ admin, history }, random) => {
    const client = await admin.connect().catch(() => undefined);
    if (!client) return undefined;
    const from = Date.now();
    try {
      await client.query('begin');
      const { rows } = await client.query<{ id: string }>(
        `select id::text from tasks where status = any($1) order by random() limit 3 for update skip locked`,
        [random.chance(0.5) ? ['pendente', 'agendada'] : ['processando']],
      );
      await pause(random.whole(300, 1_500));
      await client.query('rollback');
      if (rows.length > 0)
        history.write({ event: 'locked', ids: rows.map(({ id }) => id), from, to: Date.now() });
      return rows.length > 0 ? `${rows.length} rows` : undefined;
    } catch {
      history.write({ event: 'locked', ids: [], from, to: Date.now() });
      return undefined;
    } finally {
      client.release(true);
    }
  },
};

/** Faults of the database server. */
export const serverFaults: readonly Nemesis[] = [
  terminate('session', 'true'),
  terminate('control', `state = 'active'`),
  terminate('pool', 'xact_start is not null'),
  restartServer,
  crashServer,
  lockRows,
];
