import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { adopt } from '../../lib/storage/postgres/adoption/adopt.js';
import { SchemaSession } from '../../lib/storage/postgres/migration/schema-session.js';
import { createNsjTable } from '../storage/postgres/nsj-table.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { NsjWorker } from './nsj-worker.js';

const database = await useDatabase();
const { pool } = database;

const names = {
  table: { schema: 'public', table: 'tasks' },
  subscriptionTable: { schema: 'public', table: 'tasks_subscriber' },
  channel: 'tasks',
  webhooks: false,
};

/** How a Python producer inserts. */
async function insert(count: number): Promise<void> {
  await pool.query(
    `insert into tasks (origem, destino, processo, chave_externa, payload)
     select 'shop', 'mail', 'order-placed', n::text, '{"n":' || n || '}' from generate_series(1, $1::int) n`,
    [count],
  );
}

test('a table is adopted while both its producers and its workers go on: nothing is lost, nothing is repeated', async () => {
  await createNsjTable(pool, 'tasks');
  await pool.query('create table effects (task bigint, kind text)');
  const note = `insert into effects select coalesce(id_inicial, id), $2 from tasks where id = $1`;
  const nsj = await Promise.all(
    [1, 2].map(() =>
      NsjWorker.start(database.url, async ({ id, tentativa }, connection) => {
        await connection.query(note, [id, 'nsj']);
        if (tentativa === 1 && Number(id) % 11 === 0) throw new Error('once more');
        return 'done';
      }),
    ),
  );
  let isOver = false;
  let inserted = 0;
  const stopped = (): boolean => isOver;
  const working = nsj.map(async (worker) => {
    while (!stopped()) {
      await worker.promote();
      await worker.drain();
      await worker.retryCrashed();
    }
  });
  await insert(200);
  inserted += 200;

  const session = await SchemaSession.open(pool, { pauseMs: 20 });
  const request = {
    names,
    channelIsGiven: false,
    maxPayloadBytes: 1_048_576,
    timeZone: undefined,
    dropOldIndexes: true,
    giveBack: false,
  };
  await adopt(session, request, {
    onPlan: () => undefined,
    onStart: async () => {
      await insert(10);
      inserted += 10;
    },
  });
  await session.close();

  class Ours {
    @TaskHandler('order-placed')
    async run(payload: { readonly n: number }, { db, task }: TaskContext): Promise<void> {
      expect(payload.n).toBe(Number(task.externalKey));
      await db.query(note, [task.id, 'ours']);
    }
  }
  // Nothing is left for the start to make.
  const app = await startApp(database, { handlers: [Ours], interop: 'nsj', schema: 'check' });
  for (let n = 0; n < 20; n += 1) await insert(20);
  inserted += 400;
  await until(async () => {
    const { rows } = await pool.query<{ open: number }>(
      `select count(*)::int as open from tasks where status in ('pendente', 'agendada', 'processando')`,
    );
    return rows[0]?.open === 0;
  }, 'all to end');
  isOver = true;
  await Promise.all(working);
  await app.close();
  for (const worker of nsj) await worker.stop();

  const { rows: tasks } = await pool.query<{ tasks: number; succeeded: number; crashed: number }>(
    `select count(distinct coalesce(id_inicial, id))::int as tasks,
       (count(*) filter (where status = 'sucesso'))::int as succeeded,
       (count(*) filter (where status = 'falha_processando'))::int as crashed
     from tasks`,
  );
  expect(tasks).toEqual([{ tasks: inserted, succeeded: inserted, crashed: 0 }]);
  const { rows: effects } = await pool.query<{ tasks: number; effects: number; kinds: number }>(
    'select count(distinct task)::int as tasks, count(*)::int as effects, count(distinct kind)::int as kinds from effects',
  );
  expect(effects).toEqual([{ tasks: inserted, effects: inserted, kinds: 2 }]);
});
