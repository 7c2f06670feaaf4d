import { describe, expect, test } from 'vitest';
import { acked, useJudges } from './judges-bench.js';
import { nothingStuck } from './oracles/liveness.js';
import { betterFirst, strictOrder } from './oracles/order.js';
import { idleResources, nothingLeft, readServerResources } from './oracles/resources.js';
import { legalOnly } from './oracles/transitions.js';

const bench = useJudges();

describe('I8', () => {
  /** Claimed so many seconds after a moment long ago; due and acknowledged at that moment. */
  const claimed = async (key: string, seconds: number, columns: object = {}, worker = 1): Promise<void> => {
    const id = await bench.row({
      status: 'sucesso',
      origem: key,
      data_hora: '2020-01-01T00:00:00Z',
      ...columns,
    });
    bench.see(acked(key, Date.parse('2020-01-01T00:00:00Z')));
    await bench.client.query(
      `insert into audit (id, old_status, new_status, new_executor, at)
       values ($1, 'pendente', 'processando', $3, timestamptz '2020-01-01T00:00:00Z' + $2::float8 * interval '1 second')`,
      [id, seconds, worker],
    );
  };

  test('a worker that goes on with a lower priority while a higher one waits', async () => {
    await claimed('low-1', 10);
    await claimed('low-2', 16);
    await claimed('high', 20, { prioridade: 90 });
    expect(await bench.ask(betterFirst(5_000))).toEqual([
      'I8: a worker went on with something worse while a better task had been waiting',
    ]);
    // It had not been waiting for so long, or was not passed over for so long.
    expect(await bench.ask(betterFirst(12_000))).toEqual([]);
    expect(await bench.ask(betterFirst(7_000))).toEqual([]);
  });

  test('the same of a task that was due long before', async () => {
    const later = { data_hora: '2020-01-01T00:00:08Z' };
    await claimed('late-1', 10, later);
    await claimed('late-2', 16, later);
    await claimed('early', 20);
    expect(await bench.ask(betterFirst(5_000))).toHaveLength(1);
  });

  test('two workers that pass it over once each', async () => {
    await claimed('low-1', 10, {}, 1);
    await claimed('low-2', 16, {}, 2);
    await claimed('high', 20, { prioridade: 90 });
    expect(await bench.ask(betterFirst(5_000))).toEqual([]);
  });

  test.each(['locked', 'clock'] as const)(
    'locks of others and a clock that was set excuse (%s)',
    async (event) => {
      await claimed('low-1', 10);
      await claimed('low-2', 16);
      await claimed('high', 20, { prioridade: 90 });
      const from = Date.parse('2020-01-01T00:00:09Z');
      bench.see({ event, ids: [], from, to: from });
      expect(await bench.ask(betterFirst(5_000))).toEqual([]);
    },
  );

  test('a single worker that takes the later task first', async () => {
    await claimed('ordered-1', 20);
    await claimed('ordered-2', 10);
    expect(await bench.ask(strictOrder('ordered-'))).toEqual([
      'I8: a single worker did not take its tasks in order',
    ]);
  });
});

test('I9: a success that becomes pending, a claim without a new reservation', async () => {
  const id = await bench.healthy();
  await bench.client.query(`update tasks set status = 'pendente', executor = null where id = $1`, [id]);
  expect(await bench.ask(legalOnly)).toEqual(['I9: a transition that is not in the list']);
});

test('I9: a completion under another worker', async () => {
  const id = await bench.healthy();
  await bench.client.query('truncate audit');
  await bench.client.query(`update tasks set status = 'pendente', executor = null where id = $1`, [id]);
  await bench.client.query('truncate audit');
  await bench.client.query(
    `update tasks set status = 'processando', executor = 1, reserva = reserva + 1 where id = $1`,
    [id],
  );
  expect(await bench.ask(legalOnly)).toEqual([]);
  await bench.client.query(`update tasks set status = 'sucesso', executor = 2 where id = $1`, [id]);
  expect(await bench.ask(legalOnly)).toEqual(['I9: a transition that is not in the list']);
});

test('I10: an attempt that never ended', async () => {
  await bench.row({ status: 'processando' });
  expect(await bench.ask(nothingStuck)).toEqual(['I10: an attempt never ended']);
});

describe('I15', () => {
  const idle = {
    running: 0,
    started: 9,
    holding: { open: 0, waiting: 0 },
    resources: { TCPSocketWrap: 5, Timeout: 6 },
  };

  test('a lock that stays', async () => {
    expect(nothingLeft(await readServerResources(bench.client))).toEqual([]);
    await bench.client.query('select pg_advisory_xact_lock(1)');
    expect(nothingLeft(await readServerResources(bench.client))).toMatchObject([{ invariant: 'I15' }]);
  });

  test('a worker that gathers connections or timers, or does not answer', () => {
    const server = { connections: 8, locks: 1 };
    expect(idleResources([idle, idle], server, 4)).toEqual([]);
    expect(idleResources([idle, { ...idle, resources: { TCPSocketWrap: 50 } }], server, 4)).toHaveLength(1);
    expect(idleResources([{ ...idle, resources: { Timeout: 500 } }], server, 4)).toHaveLength(1);
    expect(idleResources([idle, undefined], server, 4)).toHaveLength(1);
    expect(idleResources([idle], { connections: 40, locks: 1 }, 4)).toHaveLength(1);
  });
});
