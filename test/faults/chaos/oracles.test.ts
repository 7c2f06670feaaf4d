import { describe, expect, test } from 'vitest';
import { occurrenceKey } from '../../../lib/storage/schedules.js';
import type { Entry } from './history.js';
import { allOracles } from './judge.js';
import { acked, attempted, started, useJudges } from './judges-bench.js';
import { deliveredOnce } from './oracles/deliveries.js';
import { effectsMatch, effectsOnce, transactionsAlone } from './oracles/effects.js';
import { enqueued } from './oracles/enqueued.js';
import { occurrencesOnce } from './oracles/occurrences.js';
import { oneWorkerAtOnce } from './oracles/overlap.js';
import { payloadsResolve, purgedWhatMay } from './oracles/payloads.js';
import { recurring } from './workload/recurring.js';

const bench = useJudges();

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

  test.each([
    { died: 10_000, violations: 0 },
    { died: 30_000, violations: 1 },
  ])('a worker that died $died ms later: could it be told?', async ({ died, violations }) => {
    const id = await bench.row({ status: 'falha', mensagem: 'worker 1 was lost' });
    bench.see(
      started({ id, root: id }),
      started({ id: '2', root: id, attempt: 2, pid: 2, at: 50 }),
      { event: 'end', id, pid: 1, at: 60 },
      { event: 'exit', pid: 1, at: died },
    );
    expect(await bench.ask(oneWorkerAtOnce)).toHaveLength(violations);
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

test('I13: how old a row was is not known while the clock was set; that it was not over is', async () => {
  bench.see({ event: 'clock', from: Date.now() - 60_000, to: Date.now() + 60_000 });
  for (const [status, found] of [
    ['sucesso', 0],
    ['pendente', 1],
  ] as const) {
    const young = await bench.row({ status });
    await bench.client.query('delete from tasks where id = $1', [young]);
    expect(await bench.ask(purgedWhatMay(1))).toHaveLength(found);
  }
});

test('I14: two attempts in one transaction', async () => {
  await bench.effect(await bench.healthy());
  bench.see({ event: 'transaction', id: '99', backend: 'b1', xid: '1', app: 'a' });
  expect(await bench.ask(transactionsAlone)).toEqual([
    'I14: two attempts worked in the same transaction',
    'I14: the effects of two tasks are of the same transaction',
  ]);
});

describe('I16', () => {
  const base = Date.parse('2026-01-01T00:00:00Z');
  /** The task of an occurrence so many seconds later. */
  const occurrence = (seconds: number, columns: object = {}): Promise<string> =>
    bench.row({
      status: 'sucesso',
      origem: recurring.key,
      metadados: { [occurrenceKey]: new Date(base + seconds * 1_000).toISOString() },
      ...columns,
    });

  test.each<readonly [string, readonly number[], readonly string[]]>([
    ['each made one task', [0, 1, 2], []],
    ['one made two', [0, 1, 1, 2], ['I16: an occurrence made several tasks']],
    ['one made none', [0, 2], ['I16: an occurrence made no task']],
    ['one was too many', [0, 1, 2, 3], ['I16: a task was made for a time at which nothing recurs']],
  ])('%s', async (_, seconds, violations) => {
    for (const one of seconds) await occurrence(one);
    bench.see({ event: 'recurred', from: base, to: base + 3_000 });
    expect(await bench.ask(occurrencesOnce)).toEqual(violations);
    expect(await bench.ask(enqueued)).toEqual([]);
  });

  test('one whose task failed for good, and one that succeeded in its second attempt', async () => {
    const failed = { status: 'falha', reenfileirado: true };
    await occurrence(0, { ...failed, reenfileirado: false });
    const first = await occurrence(1, failed);
    await occurrence(1, { id_inicial: first, id_anterior: first, tentativa: 2 });
    bench.see({ event: 'recurred', from: base, to: base + 2_000 });
    expect(await bench.ask(occurrencesOnce)).toEqual(['I16: the task of an occurrence was not carried out']);
  });
});
