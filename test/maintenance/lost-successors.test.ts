import { Injectable } from '@nestjs/common';
import { expect, onTestFinished, test } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { connectionNames } from '../support/connections.js';
import { nextEvent } from '../support/waiting.js';
import { useRecoveryBench } from './recovery-bench.js';

const bench = useRecoveryBench();

@Injectable()
class Handlers {
  @TaskHandler('flaky', { maxAttempts: 2, retryDelayMs: 3_600_000 })
  flaky(_: unknown, { task }: TaskContext): string {
    if (task.attempt === 1) throw new Error('not yet');
    return 'done';
  }
  @TaskHandler('doomed', { maxAttempts: 1 })
  doomed(): void {
    throw new Error('never');
  }
  @Subscriber('crm', { topic: 'paid' })
  crm(): void {}
}

/** Takes the first row away that is like that, as a trigger of the user's may; what else is inserted stays. */
async function dropFirst(condition: string): Promise<void> {
  await bench.pool.query(`
    create table if not exists dropped (id bigint);
    delete from dropped;
    create or replace function drop_first() returns trigger language plpgsql as $$
    begin
      if exists (select from dropped) then return new; end if;
      insert into dropped values (new.id);
      return null;
    end $$;
    drop trigger if exists drop_first on tasks;
    create trigger drop_first before insert on tasks for each row when (${condition}) execute function drop_first()`);
}

test('a next attempt that a trigger has taken away is put back, runs, and is told of', async () => {
  const { app, queue, events } = await bench.start({
    handlers: [Handlers],
    recovery: { intervalMs: 200, confirmMs: 100 },
  });
  await dropFirst('new.id_anterior is not null');
  const told = nextEvent(events, 'table.inconsistent');
  const id = await queue.insertTask({ topic: 'flaky' });
  expect(await told).toMatchObject({ kind: 'no-next-attempt', ids: [id], mended: true });
  await app.get(QueueAdmin).runNow(id);
  expect(await bench.endedChain(id, 2)).toMatchObject([
    { status: 'falha', reenfileirado: true },
    { status: 'sucesso', tentativa: 2, id_anterior: id, mensagem: 'done' },
  ]);
  expect(await app.get(QueueAdmin).check()).toEqual([]);
});

test('a next attempt that cannot be put back keeps no other one away', async () => {
  const { queue, events } = await bench.start({
    handlers: [Handlers],
    recovery: { intervalMs: 200, confirmMs: 100 },
  });
  await bench.pool.query(`
    create table taken (id bigint);
    create function take_first() returns trigger language plpgsql as $$
    begin
      if new.id_anterior in (select id from taken) then
        if new.origem = 'refused' then raise exception 'not this one'; end if;
        return new;
      end if;
      insert into taken values (new.id_anterior);
      return null;
    end $$;
    create trigger take_first before insert on tasks for each row
      when (new.id_anterior is not null) execute function take_first()`);
  const refused = nextEvent(events, 'table.inconsistent', ({ mended }) => !mended);
  const mended = nextEvent(events, 'table.inconsistent', (told) => told.mended);
  const origins = ['any', 'refused', 'any'];
  const [first, second, third] = await queue.insertTasks(
    origins.map((origin) => ({ topic: 'flaky', origin })),
  );
  expect(await refused).toMatchObject({ ids: [second], refused: expect.stringContaining('not this one') });
  expect(await mended).toMatchObject({ ids: [first, third] });
  await bench.pool.query('drop function take_first cascade');
});

test('a dead task that a trigger has taken away is told of', async () => {
  const { app, queue, events } = await bench.start({
    handlers: [Handlers],
    recovery: { intervalMs: 200, confirmMs: 100 },
  });
  await dropFirst('new.dead');
  const told = nextEvent(events, 'table.inconsistent');
  const id = await queue.insertTask({ topic: 'doomed' });
  expect(await told).toMatchObject({ kind: 'no-dead-task', ids: [id], mended: false });
  expect(await app.get(QueueAdmin).check()).toEqual([{ kind: 'no-dead-task', count: 1, ids: [id] }]);
});

test('deliveries that a trigger has taken away are told of', async () => {
  const { queue, events } = await bench.start({
    handlers: [Handlers],
    recovery: { intervalMs: 200, confirmMs: 100 },
  });
  await bench.pool.query(`
    create function take_delivery() returns trigger language plpgsql as $$
    begin delete from tasks where id = new.id; return null; end $$;
    create trigger take_delivery after insert on tasks for each row
      when (new.publication_id is not null) execute function take_delivery()`);
  onTestFinished(async () => void (await bench.pool.query('drop function take_delivery cascade')));
  const told = nextEvent(events, 'table.inconsistent');
  const id = await queue.insertTaskPubSub({ topic: 'paid' });
  expect(await told).toEqual({ kind: 'missing-deliveries', ids: [id], mended: false, refused: undefined });
  // Whoever counts connections counts none for people who look where nobody does.
  expect(await connectionNames(bench)).not.toContain('tarefa tasks dashboard');
});

test('what a worker that was killed has failed is looked at by the one that finds it lost', async () => {
  // It would look in two hours.
  const child = await bench.startChild({ recovery: { intervalMs: 3_600_000, confirmMs: 100 } });
  await dropFirst('new.id_anterior is not null');
  await bench.pool.query('alter table effect add constraint refused check (task_root < 0)');
  onTestFinished(async () => void (await bench.pool.query('alter table effect drop constraint refused')));
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload) values ('effect', '{}') returning id`,
  );
  const id = rows[0]?.id ?? '';
  await bench.ended(id);
  await child.kill('SIGKILL');
  const app = await bench.start({
    handlers: [Handlers],
    recovery: { intervalMs: 200, confirmMs: 100, graceMs: 0 },
    autoStart: false,
  });
  const told = nextEvent(app.events, 'table.inconsistent');
  await app.worker.start();
  expect(await told).toMatchObject({ kind: 'no-next-attempt', ids: [id], mended: true });
});

test.each([
  ['retry', 'falha', 'no-next-attempt', (admin: QueueAdmin, id: string) => admin.retry(id)],
  [
    'bulk retry',
    'falha',
    'no-next-attempt',
    async (admin: QueueAdmin, id: string) => {
      const run = admin.bulk('retry');
      const counts: number[] = [];
      for await (const done of run.run(await run.plan({ ids: [id] }))) counts.push(done);
      return counts;
    },
  ],
  ['bury', 'agendada', 'no-dead-task', (admin: QueueAdmin, id: string) => admin.bury(id)],
] as const)(
  'what the %s of an operator has inserted and a trigger has taken away is told of',
  async (_, status, kind, act) => {
    const { app, events } = await bench.start({
      handlers: [Handlers],
      recovery: { intervalMs: 200, confirmMs: 100 },
    });
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, status, data_hora)
       values ('flaky', $1, now() + interval '1 hour') returning id::text`,
      [status],
    );
    const id = rows[0]?.id ?? '';
    await bench.pool.query(`
    create function take_any() returns trigger language plpgsql as $$
    begin delete from tasks where id = new.id; return null; end $$;
    create trigger take_any after insert on tasks for each row execute function take_any()`);
    onTestFinished(async () => void (await bench.pool.query('drop function take_any cascade')));
    const told = nextEvent(events, 'table.inconsistent');
    await act(app.get(QueueAdmin), id);
    expect(await told).toEqual({ kind, ids: [id], mended: false, refused: undefined });
  },
);

test('what a worker has failed a moment before it stops is looked for as it does', async () => {
  const { queue, events, close } = await bench.start({
    handlers: [Handlers],
    // It would look in two hours.
    recovery: { intervalMs: 3_600_000, confirmMs: 100 },
  });
  await dropFirst('new.id_anterior is not null');
  const told = nextEvent(events, 'table.inconsistent');
  const failed = nextEvent(events, 'task.failed');
  const id = await queue.insertTask({ topic: 'flaky' });
  await failed;
  await close();
  expect(await told).toMatchObject({ kind: 'no-next-attempt', ids: [id], mended: true });
});
