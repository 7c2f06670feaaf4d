import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('a task that runs longer than every interval is never touched', async () => {
  const started = deferred();
  const end = deferred();
  let runs = 0;
  class Long {
    @TaskHandler('long')
    async long(_: unknown, { signal }: TaskContext): Promise<string> {
      runs += 1;
      started.resolve();
      await end.promise;
      return String(signal.aborted);
    }
    @TaskHandler('other')
    other(): void {}
  }
  const options = {
    handlers: [Long],
    recovery: { intervalMs: 10, confirmMs: 0, graceMs: 0 },
    pollIntervalMs: 10,
    waitNotifyIntervalSeconds: 0.001,
    retryIntervalMinutes: 0,
  };
  const app = await bench.start(options);
  const id = await app.queue.insertTask({ topic: 'long' });
  await started.promise;
  const before = await bench.row(id);

  const others = [await bench.start(options), await bench.start(options)];
  for (let round = 0; round < 5; round += 1) {
    // A row whose worker is gone shows that workers do look.
    const recovered = [app, ...others].map(({ events }) => nextEvent(events, 'task.recovered'));
    await bench.pool.query(
      `insert into tasks (processo, status, executor) values ('other', 'processando', 999999)`,
    );
    expect((await Promise.race(recovered)).workerId).toBe('999999');
    for (const { retry, notify, purge } of others)
      await Promise.all([retry.run(), notify.run(), purge.run()]);
  }
  expect(await bench.row(id)).toEqual(before);
  end.resolve();
  expect(await bench.ended(id)).toMatchObject({
    status: 'sucesso',
    mensagem: 'false',
    tentativa: 1,
    reserva: 1,
  });
  expect(await bench.chain(id)).toHaveLength(1);
  expect(runs).toBe(1);
});
