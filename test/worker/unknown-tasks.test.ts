import { expect, test } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

class Known {
  @TaskHandler('known', { maxAttempts: 1 })
  known(payload: unknown): void {
    if (payload === 'fail') throw new Error('boom');
  }
}

/** Runs known tasks until a worker that takes unknown ones would have. */
async function passTime({ queue }: { queue: { insertTask(task: object): Promise<string> } }): Promise<void> {
  for (let n = 0; n < 10; n += 1) await bench.ended(await queue.insertTask({ topic: 'known' }));
}

test('a task of a topic that nobody serves fails, is retried, and ends in the default dead treatment', async () => {
  const { queue } = await bench.start({
    handlers: [Known],
    unknownTasks: 'fail',
    maxAttempts: 2,
    retryIntervalMinutes: 0,
  });
  const id = await queue.insertTask({ topic: 'unknown' });
  const none = await queue.insertTask({});
  const [first, second, dead] = await bench.endedChain(id, 3);
  const text = `not registered: no method of this process handles topic 'unknown'`;
  expect(first).toMatchObject({ status: 'falha', mensagem: `${text} (will be tried again)` });
  expect(second).toMatchObject({ status: 'falha', mensagem: `${text} (no attempts left)` });
  expect(dead).toMatchObject({
    status: 'sucesso',
    dead: true,
    mensagem: expect.stringContaining('manual intervention'),
  });
  const [withoutTopic] = await bench.endedChain(none, 3);
  expect(withoutTopic?.mensagem).toContain('handles tasks without a topic');
});

test('a delivery for a subscription without handler fails, until one is registered', async () => {
  const options = { unknownTasks: 'fail', maxAttempts: 5, retryIntervalMinutes: 0 } as const;
  const first = await bench.start({ handlers: [Known], ...options });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('later', 'published')`);
  const failed = nextEvent(first.events, 'task.failed', ({ task }) => task.attempt === 2);
  await first.queue.insertTaskPubSub({ topic: 'published', payload: { a: 1 } });
  const { task, message } = await failed;
  expect(message).toContain(`not registered: no method of this process handles subscription 'later'`);
  await first.worker.stop();

  const payloads: unknown[] = [];
  class Later {
    @Subscriber('later')
    deliver(payload: unknown): void {
      payloads.push(payload);
    }
  }
  await bench.start({ handlers: [Later], ...options });
  const chain = await bench.endedChain(task.firstAttemptId, 3);
  expect(chain.at(-1)).toMatchObject({ status: 'sucesso', dead: false });
  expect(payloads).toEqual([{ a: 1 }]);
});

test('by default they are left, live and dead, to a worker that knows them', async () => {
  const leaving = await bench.start({ handlers: [Known], pollIntervalMs: 20 });
  const id = await leaving.queue.insertTask({ topic: 'special' });
  await passTime(leaving);
  expect(await bench.row(id)).toMatchObject({ status: 'pendente', reserva: 0 });

  const ran: boolean[] = [];
  class Special {
    @TaskHandler('special')
    @DeadTaskHandler('special')
    special(_: unknown, { task }: TaskContext): void {
      ran.push(task.dead);
    }
  }
  const special = await bench.start({ handlers: [Special] });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, dead, live_id) values ('special', true, 1) returning id`,
  );
  const dead = rows[0]?.id ?? '';
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', executor: special.worker.id });
  expect(await bench.ended(dead)).toMatchObject({ status: 'sucesso', executor: special.worker.id });
  expect(new Set(ran)).toEqual(new Set([false, true]));
});

test('a dead task whose topic is known gets the default dead treatment', async () => {
  const { queue } = await bench.start({ handlers: [Known] });
  const id = await queue.insertTask({ topic: 'known', payload: 'fail' });
  const [, dead] = await bench.endedChain(id, 2);
  expect(dead).toMatchObject({ status: 'sucesso', mensagem: expect.stringContaining('manual intervention') });
});

test('a worker without any handler fans out and leaves the rest', async () => {
  const { queue } = await bench.start({ pollIntervalMs: 20 });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('somebody', 'published')`);
  const task = await queue.insertTask({ topic: 'any' });
  for (let n = 0; n < 5; n += 1) {
    const publication = await queue.insertTaskPubSub({ topic: 'published' });
    expect(await bench.ended(publication)).toMatchObject({ status: 'sucesso' });
  }
  expect(await bench.row(task)).toMatchObject({ status: 'pendente', reserva: 0 });
  const { rows } = await bench.pool.query('select status from tasks where subscriber_id is not null');
  expect(rows).toEqual(Array.from({ length: 5 }, () => ({ status: 'pendente' })));
});

test('a handler without topic takes tasks of every topic and of none, but no deliveries', async () => {
  const topics: unknown[] = [];
  class Any {
    @TaskHandler()
    any(_: unknown, { task }: TaskContext): void {
      topics.push(task.topic);
    }
    @TaskHandler('own')
    own(): void {
      topics.push('the own handler');
    }
  }
  const { queue } = await bench.start({ handlers: [Any], unknownTasks: 'fail', maxAttempts: 1 });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('somebody', 'a')`);
  for (const topic of ['a', null, 'b', 'own', '']) {
    expect(await bench.ended(await queue.insertTask({ topic }))).toMatchObject({ status: 'sucesso' });
  }
  await bench.ended(await queue.insertTaskPubSub({ topic: 'a' }));
  const { rows } = await bench.pool.query<{ id: string }>(
    `select id from tasks where subscriber_id = 'somebody'`,
  );
  expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({
    mensagem: expect.stringMatching(/^not registered/),
  });
  expect(topics).toEqual(['a', null, 'b', 'the own handler', '']);
});

test('a process that has only the dead handler of a topic leaves its live tasks, and treats the dead ones', async () => {
  const buried: unknown[] = [];
  class DeadOnly {
    @DeadTaskHandler('known')
    dead(payload: unknown): void {
      buried.push(payload);
    }
  }
  const undertaker = await bench.start({ handlers: [DeadOnly], pollIntervalMs: 20 });
  const live = await undertaker.queue.insertTask({ topic: 'known', payload: 'fail' });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, dead, live_id) values ('known', 'buried', true, 1) returning id`,
  );
  expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({ executor: undertaker.worker.id });
  expect(await bench.row(live)).toMatchObject({ status: 'pendente', reserva: 0 });
  const { rows: announced } = await bench.pool.query(
    'select routes, dead_routes from tasks_worker where id = $1',
    [undertaker.worker.id],
  );
  expect(announced).toEqual([{ routes: ['p'], dead_routes: ['t:known'] }]);
  await bench.start({ handlers: [Known] });
  const [, dead] = await bench.endedChain(live, 2);
  expect(dead).toMatchObject({ executor: undertaker.worker.id });
  expect(buried).toEqual(['buried', 'fail']);
});
