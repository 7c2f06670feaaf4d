import { expect, test } from 'vitest';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';
import { QueueWebhooks } from '../../lib/index.js';
import { onPostgres } from '../support/run-database.js';

const bench = useQueue();
const cli = useCli(bench);

interface Answer {
  readonly subscriptions: readonly { readonly id: string; readonly [field: string]: unknown }[];
}

test('subscriptions are added, listed, disabled, enabled and removed', async () => {
  await bench.start({ worker: false });
  expect((await cli.run(['subscriptions'])).stdout).toBe('no subscriptions\n');
  expect(await cli.run(['subscriptions', 'add', 'index', 'placed'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^subscription index added\n$/) as unknown,
  });
  await cli.json(['subscriptions', 'add', 'stock', 'packed', '--tenant', '7', '--group', 'g', '--inactive']);
  const { rows } = await bench.pool.query(
    'select id, processo, tenant, grupo_empresarial, ativo from tasks_subscriber order by id',
  );
  expect(rows).toEqual([
    { id: 'index', processo: 'placed', tenant: null, grupo_empresarial: null, ativo: true },
    { id: 'stock', processo: 'packed', tenant: '7', grupo_empresarial: 'g', ativo: false },
  ]);
  expect((await cli.run(['subscriptions', 'list'])).stdout).toMatch(
    /^id +topic +active +tenant +group +webhook +headers\nindex +placed +yes\nstock +packed +no +7 +g\n$/,
  );
  expect(
    (await cli.json<Answer>(['subscriptions', 'list', '--topic', 'packed'])).subscriptions,
  ).toMatchObject([{ id: 'stock', active: false, tenant: '7' }]);
  expect((await cli.run(['subscriptions', 'enable', 'stock'])).stdout).toBe('subscription stock enabled\n');
  expect(await cli.json(['subscriptions', 'disable', 'index'])).toMatchObject({
    subscriptions: [{ active: false }],
  });
  expect((await cli.run(['subscriptions', 'remove', 'index'])).code).toBe(0);
  expect(
    (await cli.json<Answer>(['subscriptions'])).subscriptions.map(({ id, active }) => [id, active]),
  ).toEqual([['stock', true]]);
  for (const [args, problem] of [
    [['add', 'stock', 'packed'], /subscription 'stock' already exists/],
    [['remove', 'index'], /subscription "index" not found/],
    [['enable', 'index'], /subscription "index" not found/],
  ] as const) {
    const { code, stderr } = await cli.run(['subscriptions', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(problem)]);
  }
});

test('what may be secret is stored, and never shown', async () => {
  await bench.start({ worker: false });
  const add = await cli.run([
    ...['subscriptions', 'add', 'partner', 'placed', '--method', 'put'],
    ...['--webhook', 'https://me:hunter2@partner.example/hook?token=hunter2&x=hunter2#hunter2'],
    ...['--header', 'Authorization: Bearer hunter2', '--header', 'content-type: application/json'],
  ]);
  expect(add).toMatchObject({ code: 0, stderr: '' });
  const { rows } = await bench.pool.query<{ headers: unknown; http_method: string; url: string }>(
    'select headers, http_method, url from tasks_subscriber',
  );
  expect(rows).toMatchObject([
    { http_method: 'PUT', headers: { Authorization: 'Bearer hunter2', 'content-type': 'application/json' } },
  ]);
  expect(rows[0]?.url).toContain('hunter2');
  for (const args of [
    ['list'],
    ['list', '--json'],
    ['disable', 'partner'],
    ['enable', 'partner', '--json'],
  ]) {
    const { code, stdout, stderr } = await cli.run(['subscriptions', ...args]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('hunter2');
  }
  const { stdout } = await cli.run(['subscriptions', 'list']);
  expect(stdout).toContain('PUT https://***:***@partner.example/hook?token=***&x=***#***');
  expect(stdout).toContain('Authorization: ***, content-type: application/json');
  // Its signing secrets go with it: another one may get its id.
  await bench.pool.query(
    `create table if not exists tasks_webhook (subscriber_id text primary key, secrets ${onPostgres ? 'jsonb' : 'longtext'})`,
  );
  await bench.pool.query(`insert into tasks_webhook (subscriber_id, secrets) values ('partner', '["x"]')`);
  await cli.run(['subscriptions', 'remove', 'partner']);
  expect((await bench.pool.query('select 1 from tasks_webhook')).rowCount).toBe(0);
  await bench.pool.query('drop table tasks_webhook');
});

test('a secret of a webhook is said once, and stored as the application stores it', async () => {
  await bench.start({ worker: false });
  await cli.run(['subscriptions', 'add', 'crm', 'placed', '--webhook', 'https://crm.example/hook']);
  await cli.run(['subscriptions', 'add', 'erp', 'placed', '--webhook', 'https://erp.example/hook']);
  await cli.run(['subscriptions', 'add', 'code', 'placed']);
  expect(await cli.run(['subscriptions', 'secret', 'crm'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has no table for secrets yet') as unknown,
  });
  const key = Buffer.alloc(32, 7).toString('base64');
  const { app } = await bench.start({ worker: false, webhooks: { secretKeys: key } });
  const stored = async (): Promise<string> =>
    JSON.stringify((await bench.pool.query('select secrets from tasks_webhook order by subscriber_id')).rows);
  const plain = await cli.run(['subscriptions', 'secret', 'crm']);
  expect(plain).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_.{44}\n$/) as unknown });
  expect(plain.stderr).toContain('only once');
  expect(await stored()).toContain(plain.stdout.trim());
  // From here on the application encrypts.
  await app.get(QueueWebhooks).createSecret('erp');
  const before = await stored();
  for (const env of [{}, { WEBHOOK_SECRET_KEYS: Buffer.alloc(32, 8).toString('base64') }]) {
    const refused = await cli.run(['subscriptions', 'secret', 'crm'], { env: { ...cli.env, ...env } });
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/encrypted with a key .* lacks.*WEBHOOK_SECRET_KEYS/);
  }
  expect(await stored()).toBe(before);
  const env = { ...cli.env, WEBHOOK_SECRET_KEYS: key };
  const pair = await cli.run(['subscriptions', 'secret', 'crm', '--key-pair', '--json'], { env });
  expect(JSON.parse(pair.stdout)).toEqual({ id: 'crm', secret: expect.stringMatching(/^whpk_/) as unknown });
  expect(await stored()).not.toBe(before);
  for (const [id, problem] of [
    ['code', /"code" has no URL/],
    ['nobody', /subscription "nobody" not found/],
  ] as const) {
    expect((await cli.run(['subscriptions', 'secret', id], { env })).stderr).toMatch(problem);
  }
  expect((await app.get(QueueWebhooks).endpoint('crm')).signed).toBe(true);
  await bench.pool.query('delete from tasks_webhook');
});

test.each<[readonly string[], RegExp]>([
  [['lst'], /unknown subscriptions command "lst": did you mean list\?/],
  [['constructor'], /unknown subscriptions command "constructor": use one of list, add/],
  [['add', 'x'], /subscriptions add takes an id and a topic/],
  [['list', 'x'], /subscriptions list takes no arguments/],
  [['remove'], /subscriptions remove takes an id/],
  [['add', 'x', 'y', '--webhook', 'ftp://hunter2'], /url must be an address that begins with http/],
  [['add', 'x', 'y', '--method', 'BREW'], /httpMethod must be one of/],
  [['add', 'x', 'y', '--tenant', 'z'], /tenant/],
  [['add', 'x'.repeat(101), 'y'], /id/],
])('subscriptions %j is refused, and nothing is done', async (args, problem) => {
  await bench.start({ worker: false });
  const { code, stdout, stderr } = await cli.run(['subscriptions', ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
  expect((await bench.pool.query('select 1 from tasks_subscriber')).rowCount).toBe(0);
});

test.each<[readonly string[], RegExp]>([
  [['add', 'x', 'y', '--header', 'hunter2'], /--header must be a name, a colon and a value/],
  [['add', 'x', 'y', '--header', 'a b: hunter2'], /--header "a b" cannot be sent/],
  [['add', 'x', 'y', '--header', 'a: hunter2\r\nb: c'], /--header "a" cannot be sent/],
])('subscriptions %j is refused without repeating what may be secret', async (args, problem) => {
  await bench.start({ worker: false });
  const { code, stderr } = await cli.run(['subscriptions', ...args]);
  expect(code).toBe(1);
  expect(stderr).toMatch(problem);
  expect(stderr).not.toContain('hunter2');
});
