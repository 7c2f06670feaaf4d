import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { unlessTold } from '../support/run-database.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('who gets the next attempt of a task that it still runs tells the older one first', async () => {
  const steps: string[] = [];
  const ends = deferred();
  @Injectable()
  class Handlers {
    @TaskHandler('hold')
    async hold(_: unknown, { task, signal }: TaskContext): Promise<void> {
      steps.push(`attempt ${task.attempt} runs`);
      signal.addEventListener('abort', () => {
        steps.push(`attempt ${task.attempt} is told: ${(signal.reason as { code: string }).code}`);
        ends.resolve();
      });
      if (task.attempt === 1) await ends.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers], pollIntervalMs: unlessTold, recovery: false });
  const id = await queue.insertTask({ topic: 'hold' });
  await until(async () => steps.length === 1, 'the first attempt runs');
  // What another worker does that takes this one for lost.
  await bench.pool.query(`update tasks set status = 'falha', reenfileirado = true where id = $1`, [id]);
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, id_inicial, id_anterior, tentativa, perdas) values ('hold', $1, $1, 2, 1) returning id`,
    [id],
  );
  expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({ status: 'sucesso' });
  expect(steps).toEqual(['attempt 1 runs', 'attempt 1 is told: TASK_LOST', 'attempt 2 runs']);
});
