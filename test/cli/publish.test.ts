import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import { Subscriber } from '../../lib/index.js';
import { unlessTold } from '../support/run-database.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { runCli } from './support.js';

@Injectable()
class Handlers {
  @Subscriber('index')
  index({ n }: { n: number }): string {
    return `indexed ${n}`;
  }
}

const database = await useDatabase();
/** No worker looks by itself: what starts was rung for. */
await useApp(database, { handlers: [Handlers], pollIntervalMs: unlessTold });
await database.pool.query("insert into tasks_subscriber (id, processo) values ('index', 'order-placed')");
const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' };

async function deliveries(): Promise<string[]> {
  const { rows } = await database.pool.query<{ message: string }>(
    `select message from tasks_tasks where subscription_id = 'index' and status = 'succeeded' order by task_id`,
  );
  return rows.map(({ message }) => message);
}

test('a publication reaches the subscriptions of its topic', async () => {
  const { code, stdout, stderr } = await runCli(
    ['publish', '--topic', 'order-placed', '--payload', '{"n":1}', '--external-key', 'order-1'],
    { env },
  );
  expect([code, stderr]).toEqual([0, '']);
  await until(async () => (await deliveries()).length === 1, 'the delivery of the publication');
  const { rows } = await database.pool.query(
    'select id, pub_sub, chave_externa from tasks where publication_id is null',
  );
  expect(rows).toEqual([{ id: stdout.trimEnd(), pub_sub: true, chave_externa: 'order-1' }]);
  expect(await deliveries()).toEqual(['indexed 1']);
});

test('many publications are published together, and wake a worker', async () => {
  const input = Array.from({ length: 1_200 }, (_, index) => `{"payload":{"n":${index + 2}}}`).join('\n');
  const { code, stdout } = await runCli(['publish', '--topic', 'order-placed', '--file', '-'], {
    env,
    input,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^1,200 publications inserted, ids /);
  await until(async () => (await deliveries()).length === 1_201, 'all deliveries');
});

test('a publication that nobody gets is inserted, and that is said', async () => {
  const { code, stdout, stderr } = await runCli(['publish', '--topic', 'order-palced'], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d+\n$/);
  expect(stderr).toBe('no active subscription has the topic "order-palced": nobody will receive it\n');
});

test('a publication needs a topic, in each line too', async () => {
  expect(await runCli(['publish', '--payload', 'x'], { env })).toMatchObject({ code: 1, stdout: '' });
  const { code, stderr } = await runCli(['publish', '--file', '-'], {
    env,
    input: '{"topic":"a"}\n{"payload":1}',
  });
  expect(code).toBe(3);
  expect(stderr).toMatch(/^line 2: topic must be given: .*\nnothing was inserted\n$/);
});
