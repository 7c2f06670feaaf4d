import { describe, expect, test } from 'vitest';
import type { Entry } from './history.js';
import { allOracles } from './judge.js';
import { useJudges } from './judges-bench.js';
import { bounded, chainShape, deadOnce } from './oracles/chains.js';
import { deliveredOnce } from './oracles/deliveries.js';
import { effectsMatch, effectsOnce, transactionsAlone } from './oracles/effects.js';
import { enqueued } from './oracles/enqueued.js';
import { nothingStuck } from './oracles/liveness.js';
import { betterFirst, strictOrder } from './oracles/order.js';
import { oneWorkerAtOnce } from './oracles/overlap.js';
import { payloadsResolve, purgedWhatMay } from './oracles/payloads.js';
import { idleResources, nothingLeft, readServerResources } from './oracles/resources.js';
import { legalOnly } from './oracles/transitions.js';

const bench = useJudges();
const attempted = (key: string, kind = 'transaction'): Entry => ({ event: 'attempted', key, kind, wall: 0 });
const acked = (key: string, wall = 0): Entry => ({ event: 'acked', key, wall });
const started = (fields: object): Entry =>
  ({ event: 'start', key: 'task-1', dead: false, attempt: 1, pid: 1, at: 0, ...fields }) as Entry;

test('where all is well no judge finds anything', async () => {
  await bench.healthy();
  for (const oracle of allOracles({ purgeMaxAgeDays: 1, pollIntervalMs: 1_000 })) {
    expect(await bench.ask(oracle)).toEqual([]);
  }
});

describe('I1', () => {
  test('an acknowledged task that is not there', async () => {
    await bench.healthy();
    bench.see(attempted('task-2'), acked('task-2'));
    expect(await bench.ask(enqueued)).toEqual(['I1: an acknowledged task does not exist']);
  });

  test('a task that failed for good, though its handler behaves', async () => {
    await bench.row({ status: 'falha', estouro_tentativas: true });
    bench.see(attempted('task-1'), acked('task-1'), started({ id: '1', root: '1' }));
    expect(await bench.ask(enqueued)).toEqual(['I1: a task was not carried out']);
  });

  test('a success that no handler has seen', async () => {
    await bench.row({ status: 'sucesso' });
    bench.see(attempted('task-1'), acked('task-1'));
    expect(await bench.ask(enqueued)).toEqual(['I1: a task was not carried out']);
  });

  test('a task out of nowhere, and one that its producer rolled back', async () => {
    await bench.healthy();
    await bench.row({ status: 'sucesso', origem: 'task-2' });
    await bench.row({ status: 'sucesso', origem: 'task-3' });
    bench.see(
      attempted('task-3'),
      { event: 'refused', key: 'task-3', error: '' },
      started({ key: 'task-3', id: '3', root: '3' }),
    );
    expect(await bench.ask(enqueued)).toEqual([
      'I1: a task exists that nobody inserted',
      'I1: a task exists whose insert was rolled back',
    ]);
  });

  test('one insert, two tasks', async () => {
    await bench.healthy();
    await bench.row({ status: 'sucesso' });
    expect(await bench.ask(enqueued)).toEqual(['I1: one insert made several tasks, or none but copies']);
  });
});

test('I2: a second effect of the same task', async () => {
  await bench.effect(await bench.healthy(), 2);
  expect(await bench.ask(effectsOnce)).toEqual(['I2: a task has its effect more than once']);
});

test('I3: an effect whose attempt failed, and a success without one', async () => {
  await bench.effect(await bench.row({ status: 'falha', reenfileirado: true }));
  await bench.row({ status: 'sucesso' });
  expect(await bench.ask(effectsMatch)).toEqual([
    'I3: an effect without the success of its attempt',
    'I3: a success without its effect',
  ]);
});

describe('I4', () => {
  const older = started({ id: '1', root: '1', at: 0 });
  const newer = started({ id: '2', root: '1', attempt: 2, pid: 2, at: 50 });
  const end: Entry = { event: 'end', id: '1', pid: 1, at: 60 };

  test('two attempts at once', async () => {
    bench.see(older, newer, end);
    expect(await bench.ask(oneWorkerAtOnce)).toEqual([
      'I4: two attempts of a task ran at once, and the older one was not told that it is lost',
    ]);
  });

  test('an attempt that was lost and told so may still run', async () => {
    const id = await bench.row({ status: 'falha', mensagem: 'worker 1 was lost' });
    const told: Entry = { event: 'told', id, pid: 1, at: 60 };
    bench.see(
      started({ id, root: id }),
      started({ id: '2', root: id, attempt: 2, pid: 2, at: 50 }),
      { event: 'end', id, pid: 1, at: 60 },
      told,
    );
    expect(await bench.ask(oneWorkerAtOnce)).toEqual([]);
  });

  test('a process that ended before its successor began', async () => {
    bench.see(older, newer, { event: 'exit', pid: 1, at: 40 });
    expect(await bench.ask(oneWorkerAtOnce)).toEqual([]);
  });

  test('an attempt that was started twice', async () => {
    bench.see(older, end, started({ id: '1', root: '1', pid: 2, at: 70 }));
    expect(await bench.ask(oneWorkerAtOnce)).toEqual(['I4: an attempt was started twice']);
  });
});

describe('I5', () => {
  test('a gap in the attempts', async () => {
    const id = await bench.row({ status: 'falha', reenfileirado: true });
    await bench.row({ status: 'sucesso', id_inicial: id, id_anterior: id, tentativa: 3 });
    expect(await bench.ask(chainShape)).toEqual(['I5: the attempts of a chain are not numbered 1 to n']);
  });

  test('a failure without its next attempt', async () => {
    await bench.row({ status: 'falha', reenfileirado: true });
    expect(await bench.ask(chainShape)).toEqual([
      'I5: an attempt has not exactly the successors its outcome asks for',
    ]);
  });

  test('a failure with two next attempts, both alive', async () => {
    await bench.client.query('drop index tasks_successor');
    const id = await bench.row({ status: 'falha', reenfileirado: true });
    const next = { id_inicial: id, id_anterior: id, tentativa: 2 };
    await bench.row({ ...next, status: 'pendente' });
    await bench.row({ ...next, status: 'processando' });
    expect(await bench.ask(chainShape)).toEqual([
      'I5: the attempts of a chain are not numbered 1 to n',
      'I5: an attempt has not exactly the successors its outcome asks for',
      'I5: a chain has more than one attempt that is not over',
    ]);
  });

  test('an attempt after the success', async () => {
    const id = await bench.row({ status: 'sucesso' });
    await bench.row({ status: 'sucesso', id_inicial: id, tentativa: 2 });
    expect(await bench.ask(chainShape)).toEqual(['I5: a chain went on after it had succeeded']);
  });
});

describe('I6', () => {
  const doomed = { processo: 'doomed', status: 'falha', estouro_tentativas: true };

  test('a chain that gave up, and nobody was told', async () => {
    await bench.row(doomed);
    bench.see(attempted('task-1', 'doomed'));
    expect(await bench.ask(deadOnce)).toEqual([
      'I6: a chain has not exactly the dead chains its end asks for',
    ]);
  });

  test('two dead chains, and one of a task that is fine', async () => {
    await bench.client.query('drop index tasks_dead');
    bench.see(attempted('task-1', 'doomed'));
    const id = await bench.row(doomed);
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    expect(await bench.ask(deadOnce)).toEqual([]);
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    await bench.row({ status: 'sucesso', dead: true, live_id: await bench.row({ status: 'sucesso' }) });
    expect(await bench.ask(deadOnce)).toEqual([
      'I6: a chain has not exactly the dead chains its end asks for',
      'I6: a dead chain names no exhausted chain',
    ]);
  });

  test('an innocent task that was buried', async () => {
    const id = await bench.row({ status: 'falha', estouro_tentativas: true, perdas: 4 });
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    bench.see(attempted('task-1'));
    expect(await bench.ask(deadOnce)).toEqual(['I6: an innocent task was buried']);
  });
});

test('I7: a fourth attempt where three are allowed', async () => {
  await bench.row({ processo: 'doomed', status: 'falha', tentativa: 4 });
  bench.see(attempted('task-1', 'doomed'));
  expect(await bench.ask(bounded)).toEqual(['I7: a task had more attempts or losses than allowed']);
});

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

  test('a lower priority before a higher one that had waited long', async () => {
    await claimed('low', 10);
    await claimed('high', 20, { prioridade: 90 });
    expect(await bench.ask(betterFirst(5_000))).toEqual([
      'I8: something worse was claimed while a better task had been waiting',
    ]);
    expect(await bench.ask(betterFirst(15_000))).toEqual([]);
  });

  test('locks of others excuse', async () => {
    await claimed('low', 10);
    await claimed('high', 20, { prioridade: 90 });
    const from = Date.parse('2020-01-01T00:00:09Z');
    bench.see({ event: 'locked', ids: [], from, to: from });
    expect(await bench.ask(betterFirst(5_000))).toEqual([]);
  });

  test('claims that collide excuse, but only some', async () => {
    const later = { processo: 'rare', data_hora: '2020-01-01T00:00:08Z' };
    await claimed('high', 20, { prioridade: 90 });
    await claimed('taken', 10, { processo: 'rare' }, 2);
    for (let n = 0; n < 5; n += 1) await claimed(`low-${n}`, 10, later);
    // The one that was taken at that moment is not excused itself.
    expect(await bench.ask(betterFirst(5_000))).toHaveLength(1);
    await bench.client.query(`update tasks set prioridade = 90 where origem = 'taken'`);
    expect(await bench.ask(betterFirst(5_000))).toEqual([]);
    await claimed('low-5', 10, later);
    expect(await bench.ask(betterFirst(5_000))).toHaveLength(1);
  });

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

test('I11: a subscription left out, and one served twice', async () => {
  const publication = async (key: string, copies: readonly string[]): Promise<void> => {
    const id = await bench.row({ processo: 'news', pub_sub: true, status: 'sucesso', origem: key });
    for (const subscriber of copies) {
      await bench.row({
        processo: 'news',
        status: 'sucesso',
        origem: key,
        publication_id: id,
        subscriber_id: subscriber,
      });
    }
    bench.see({ event: 'attempted', key, kind: 'publication', subscriptions: ['a', 'b'], wall: 0 });
  };
  await publication('all', ['b', 'a']);
  expect(await bench.ask(deliveredOnce)).toEqual([]);
  await publication('one', ['a']);
  expect(await bench.ask(deliveredOnce)).toHaveLength(1);
  await bench.client.query('truncate tasks');
  await bench.client.query('drop index tasks_deliveries');
  await publication('twice', ['a', 'b', 'b']);
  expect(await bench.ask(deliveredOnce)).toEqual([
    'I11: a publication has not exactly one copy per subscription',
  ]);
});

test('I12: the holder of the payload is gone', async () => {
  const first = await bench.row({ status: 'falha', reenfileirado: true });
  await bench.row({ status: 'pendente', id_inicial: first, id_anterior: first, tentativa: 2, payload: null });
  expect(await bench.ask(payloadsResolve)).toEqual([]);
  await bench.client.query('delete from tasks where id = $1', [first]);
  expect(await bench.ask(payloadsResolve)).toEqual(['I12: an attempt that is not over has no payload']);
});

test('I13: an attempt deleted though its task goes on, and one that is young', async () => {
  const old = { data_hora: '2020-01-01T00:00:00Z' };
  const over = await bench.row({ ...old, status: 'sucesso' });
  await bench.client.query('delete from tasks where id = $1', [over]);
  expect(await bench.ask(purgedWhatMay(1))).toEqual([]);
  const first = await bench.row({ ...old, status: 'falha', reenfileirado: true });
  await bench.row({ status: 'pendente', id_inicial: first, id_anterior: first, tentativa: 2 });
  await bench.client.query('delete from tasks where id = $1', [first]);
  expect(await bench.ask(purgedWhatMay(1))).toHaveLength(1);
  await bench.client.query('truncate gone');
  const young = await bench.row({ status: 'sucesso' });
  await bench.client.query('delete from tasks where id = $1', [young]);
  expect(await bench.ask(purgedWhatMay(1))).toEqual([
    'I13: a row was deleted that is not over, or too young',
  ]);
});

test('I14: two attempts in one transaction', async () => {
  await bench.effect(await bench.healthy());
  bench.see({ event: 'transaction', id: '99', backend: 'b1', xid: '1', app: 'a' });
  expect(await bench.ask(transactionsAlone)).toEqual([
    'I14: two attempts worked in the same transaction',
    'I14: the effects of two tasks are of the same transaction',
  ]);
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
