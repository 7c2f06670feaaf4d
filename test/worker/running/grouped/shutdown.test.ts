import { expect, test } from 'vitest';
import { deferred, until } from '../../../support/waiting.js';
import { statusesIn } from '../../../support/statuses.js';
import { noTransaction, succeed, useGroups, type Act } from './group-bench.js';

const bench = useGroups();

test('closing waits for the group that runs, and for those that wait for their turn', async () => {
  const working = deferred();
  const end = deferred();
  const hold: Act = async () => {
    working.resolve();
    await end.promise;
  };
  const { close, worker, ids } = await bench.begin([succeed, hold, succeed, succeed]);
  await working.promise;
  const closing = close();
  await until(async () => worker.state === 'stopping', 'the worker stops');
  end.resolve();
  await closing;
  expect(await statusesIn(bench.pool)).toEqual(ids.map(() => 'sucesso'));
  expect(await bench.effects()).toHaveLength(4);
});

test('one that ignores the shutdown takes nobody along: what it held up is given back', async () => {
  const working = deferred();
  const end = deferred();
  const ignore: Act = async () => {
    working.resolve();
    await end.promise;
  };
  const { close, worker, events, ids } = await bench.begin([succeed, succeed, ignore, succeed, succeed], {
    shutdownTimeoutMs: 100,
  });
  const released: string[] = [];
  events.on('task.released', ({ task }) => released.push(task.id));
  await working.promise;
  await close();
  expect(worker.running).toBe(1);
  await noTransaction(bench);
  expect(await statusesIn(bench.pool)).toEqual([
    'pendente',
    'pendente',
    'processando',
    'pendente',
    'pendente',
  ]);
  expect(await bench.effects()).toEqual([]);
  expect(released.toSorted()).toEqual(ids.toSpliced(2, 1));
  end.resolve();
});
