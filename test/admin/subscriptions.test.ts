import { expect, test } from 'vitest';
import { getQueueToken, QueueAdmin } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

async function start(options = {}) {
  const { app, queue } = await bench.start({ worker: false, ...options });
  return { queue, admin: app.get(QueueAdmin).subscriptions };
}

test('subscriptions are added, listed, changed and removed', async () => {
  const { admin } = await start();
  const added = await admin.add({ id: 'index', topic: 'placed' });
  expect(added).toEqual({
    id: 'index',
    topic: 'placed',
    tenant: null,
    group: null,
    url: null,
    httpMethod: null,
    headers: null,
    active: true,
    createdAt: expect.any(Date) as unknown,
  });
  const hook = {
    id: 'hook',
    topic: 'paid',
    tenant: '9007199254740993',
    group: 'g',
    url: 'https://example.test/ü?x=1',
    httpMethod: 'PUT',
    headers: { 'x-one': 'ü' },
    active: false,
  };
  expect(await admin.add(hook)).toMatchObject(hook);
  expect((await admin.list()).map(({ id }) => id)).toEqual(['hook', 'index']);
  expect((await admin.list({ topic: 'placed' })).map(({ id }) => id)).toEqual(['index']);
  expect(await admin.update('hook', { active: true, group: null })).toMatchObject({
    ...hook,
    active: true,
    group: null,
  });
  expect(await admin.update('index', { url: 'https://example.test/' })).toMatchObject({ httpMethod: 'POST' });
  await admin.remove('index');
  expect(await admin.find('index')).toBeUndefined();
  expect(await admin.find('hook')).toMatchObject({ active: true });
});

test('a header that SQL wrote as a number keeps its digits when something else is changed', async () => {
  const { admin } = await start();
  await admin.add({ id: 'hook', topic: 'paid', url: 'https://example.test/' });
  await bench.pool.query(
    `update tasks_subscriber set headers = '{"x-account":1970670598291982290,"x-on":true}' where id = 'hook'`,
  );
  const headers = { 'x-account': '1970670598291982290', 'x-on': 'true' };
  expect(await admin.update('hook', { active: false })).toMatchObject({ headers });
  expect(await admin.find('hook')).toMatchObject({ headers });
});

test('what is taken or not there is said', async () => {
  const { admin } = await start();
  await admin.add({ id: 'index', topic: 'placed' });
  await expect(admin.add({ id: 'index', topic: 'other' })).rejects.toMatchObject({
    code: 'SUBSCRIPTION_EXISTS',
  });
  expect(await admin.find('index')).toMatchObject({ topic: 'placed' });
  await expect(admin.update('none', { active: false })).rejects.toMatchObject({
    code: 'SUBSCRIPTION_NOT_FOUND',
  });
  await expect(admin.remove('none')).rejects.toMatchObject({ code: 'SUBSCRIPTION_NOT_FOUND' });
});

test.each([
  [{ id: '' }, /id must be text/],
  [{ id: 'x'.repeat(101) }, /id has more than 100 characters/],
  [{ topic: '' }, /topic must be text/],
  [{ topic: null }, /topic must be text/],
  [{ tenant: 'x' }, /tenant must be a whole number/],
  [{ group: 'x'.repeat(41) }, /group has more than 40 characters/],
  [{ url: 'example.test' }, /url must be an address that begins with http/],
  [{ url: 'file:///etc/passwd' }, /url must be an address that begins with http/],
  [{ url: `https://example.test/${'x'.repeat(2_048)}` }, /url has more than 2048 characters/],
  [{ httpMethod: 'PATCH' }, /httpMethod must be one of POST, PUT, GET, DELETE/],
  [{ headers: { 'a b': 'x' } }, /headers must be an object of strings/],
  [{ headers: { a: 'x\ny' } }, /headers must be an object of strings/],
  [{ headers: { a: 1 } }, /headers must be an object of strings: a is not a string/],
  [{ headers: ['a'] }, /headers must be an object of strings \(got a list\)/],
  [{ headers: 'authorization: x' }, /headers must be an object of strings/],
  [{ headers: new Headers({ a: 'x' }) }, /headers must be an object of strings/],
  [{ headers: { authorization: 's3cret\nx' } }, /^(?!.*s3cret)/],
  [{ url: 'ftp://ana:s3cret@example.test' }, /^(?!.*s3cret)/],
  [{ id: 'a\0b' }, /id must not contain a NUL/],
  [{ active: 'yes' }, /active must be true or false/],
])('%j is refused', async (changes, message) => {
  const { admin } = await start();
  await expect(admin.add({ id: 'index', topic: 'placed', ...changes } as never)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringMatching(message) as unknown,
  });
  expect(await admin.list()).toEqual([]);
});

test('a queue without publications has no subscriptions, and a named one has its own', async () => {
  const { admin } = await start({ subscriptionTable: false });
  await expect(admin.list()).rejects.toMatchObject({ code: 'SUBSCRIPTIONS_UNAVAILABLE' });
  const named = await bench.start({ worker: false, name: 'billing' });
  const { subscriptions } = named.app.get<QueueAdmin>(getQueueToken('billing', QueueAdmin));
  expect(await subscriptions.list()).toEqual([]);
});
