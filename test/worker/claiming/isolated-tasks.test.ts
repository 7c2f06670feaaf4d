import { beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../../lib/index.js';
import { createQueue, type QueueAppOptions } from '../../support/queue-app.js';
import { deferred, until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';
import { createEffectTable, forkWorker } from '../../support/worker-process.js';
import { useQueue } from '../queue-bench.js';

const eager = { intervalMs: 100, confirmMs: 100, graceMs: 0 };

const bench = useQueue('effect');

beforeAll(async () => {
  await createEffectTable(bench.database);
  await createQueue(bench.database);
});

/** Handlers that say when they start, and end when they are told to. */
function gatedHandlers() {
  const started: string[] = [];
  const gates = new Map<string, ReturnType<typeof deferred<void>>>();
  const gate = (id: string): ReturnType<typeof deferred<void>> => {
    const present = gates.get(id) ?? deferred();
    gates.set(id, present);
    return present;
  };
  class Handlers {
    @TaskHandler('gated')
    async gated(name: string): Promise<void> {
      started.push(name);
      await gate(name).promise;
    }
    @TaskHandler('probe')
    probe(): void {}
    @TaskHandler()
    any(name: string): void {
      started.push(name);
    }
  }
  return { handlers: [Handlers], started, gate };
}

const start = (options: QueueAppOptions) => bench.start({ recovery: eager, ...options });

/**
 * Tasks as recovery leaves them that have lost so many workers in a row, by payload: an insert by hand would be filed with
 * none. Committed together, so that no look comes between.
 */
async function insertLosers(losses: Readonly<Record<string, number>>, topic = 'gated'): Promise<void> {
  await withClient(bench.database, async (client) => {
    await client.query('begin');
    for (const [name, lost] of Object.entries(losses)) {
      const { rows } = await client.query<{ id: string }>(
        'insert into tasks (processo, payload) values ($1, $2) returning id',
        [topic, name],
      );
      await client.query('update tasks set perdas = $2 where id = $1', [rows[0]?.id, lost]);
    }
    // As for what is inserted like that.
    await client.query(`select pg_notify('tasks', extract(epoch from now())::bigint || ' 50')`);
    await client.query('commit');
  });
}

const insert = (name: string): Promise<unknown> =>
  bench.pool.query(`insert into tasks (processo, payload) values ('gated', $1)`, [name]);

/** Once something else has come through the whole cycle, what could have started has. */
async function startedUntilNow(started: readonly string[]): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status, data_hora) values ('probe', 'agendada', now()) returning id`,
  );
  await until(
    async () =>
      (await bench.pool.query(`select from tasks where id = $1 and status <> 'agendada'`, [rows[0]?.id]))
        .rowCount === 1,
    'a later look of the worker',
  );
  return [...started];
}

test('an attempt after two losses waits until nothing else runs, and then runs alone', async () => {
  const { handlers, started, gate } = gatedHandlers();
  await start({ handlers, concurrency: 5 });
  await insert('before');
  await until(async () => started.includes('before'), 'the neighbour runs');
  await insertLosers({ suspect: 3, another: 2, innocent: 1 });
  // One loss may be anybody's fault.
  await until(async () => started.includes('innocent'), 'what lost one worker runs as ever');
  gate('innocent').resolve();
  expect(await startedUntilNow(started)).toEqual(['before', 'innocent']);

  gate('before').resolve();
  await until(async () => started.length >= 3, 'a suspect runs');
  await insert('after');
  expect((await startedUntilNow(started)).length).toBe(3);
  gate('suspect').resolve();
  gate('another').resolve();
  await until(async () => started.includes('after'), 'others again');
  expect(started.slice(2, 4).toSorted()).toEqual(['another', 'suspect']);
  gate('after').resolve();
});

test('workers that are told by a ring take turns: while one is alone with a suspect, the others go on', async () => {
  const one = gatedHandlers();
  const two = gatedHandlers();
  await start({ handlers: one.handlers, concurrency: 2 });
  await start({ handlers: two.handlers, concurrency: 2 });
  const both = (): readonly string[] => [...one.started, ...two.started];
  await insertLosers({ suspect: 2, another: 2 });
  await until(async () => both().length >= 1, 'a suspect runs');
  for (const name of ['a', 'b']) await insert(name);
  await until(async () => both().includes('a') && both().includes('b'), 'the other worker goes on');
  expect(both().filter((name) => name === 'suspect' || name === 'another')).toHaveLength(1);
  for (const gate of [one.gate, two.gate])
    for (const name of ['suspect', 'another', 'a', 'b']) gate(name).resolve();
  await until(async () => both().length === 4, 'the other suspect runs');
});

test('a suspect of a topic that nobody names is found as well', async () => {
  const { handlers, started } = gatedHandlers();
  await start({ handlers });
  await insertLosers({ somebody: 2 }, 'unheard of');
  await until(async () => started.length === 1, 'it runs');
  expect(started).toEqual(['somebody']);
});

test('a task that kills its process ends in its dead handler, and its neighbours are not dragged along', async () => {
  const { pool } = bench;
  const neighbours = 30;
  await pool.query(
    `insert into tasks (processo, payload) select 'effect', '{"ms": 30}' from generate_series(1, $1::int)`,
    [neighbours],
  );
  await pool.query(`insert into tasks (processo, prioridade) values ('kill', 60)`);
  const unfinished = async (): Promise<number | null> =>
    (await pool.query(`select from tasks where status not in ('sucesso', 'falha')`)).rowCount;
  let deaths = 0;
  while ((await unfinished()) !== 0) {
    const worker = forkWorker(bench.database, { recovery: eager, concurrency: 10 });
    let gone = false;
    void worker.exit.then(() => (gone = true));
    await until(async () => gone || (await unfinished()) === 0, 'an end or a death', 60_000);
    const { signal } = await worker.kill();
    if (signal === 'SIGKILL') deaths += 1;
  }
  expect(deaths).toBe(5);
  const chains = await pool.query(
    `select processo, dead, status, tentativa, count(*)::int as n from tasks
     where not coalesce(reenfileirado, false) and processo = 'kill' group by 1, 2, 3, 4 order by 2`,
  );
  expect(chains.rows).toEqual([
    { processo: 'kill', dead: false, status: 'falha', tentativa: 5, n: 1 },
    { processo: 'kill', dead: true, status: 'sucesso', tentativa: 1, n: 1 },
  ]);
  // Twice at most anybody may have been beside it.
  expect((await pool.query(`select from tasks where processo = 'effect' and tentativa > 3`)).rowCount).toBe(
    0,
  );
  const effects = await pool.query(
    'select count(*)::int as all, count(distinct task_root)::int as roots from effect',
  );
  expect(effects.rows).toEqual([{ all: neighbours + 1, roots: neighbours + 1 }]);
}, 120_000);
