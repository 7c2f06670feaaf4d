import { beforeEach, expect, test } from 'vitest';
import { QueueAdmin, type QueueClient } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
let admin: QueueAdmin;
let queue: QueueClient;

beforeEach(async () => {
  const started = await bench.start({ worker: false });
  admin = started.app.get(QueueAdmin);
  ({ queue } = started);
});

const fail = (): never => {
  throw new Error('s3cret');
};
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** What a program without types may hand over. */
const hostile: readonly (readonly [name: string, value: unknown])[] = [
  ['NaN', Number.NaN],
  ['infinity', Infinity],
  ['a number', -1.5],
  ['a bigint', 2n ** 70n],
  ['NUL', 'a\0b'],
  ['a symbol', Symbol('x')],
  ['a function', fail],
  ['a toString that throws', { toString: fail, valueOf: fail, toJSON: fail, [Symbol.toPrimitive]: fail }],
  ['nothing to convert', Object.create(null)],
  ['a list', [fail]],
  ['a proxy that was revoked', revoked()],
  ['a proxy whose traps throw', new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail, has: fail })],
  ['an invalid date', new Date(Number.NaN)],
  ['a date of the year 0', new Date('0000-06-01T00:00:00Z')],
  ['a date before Christ', new Date(-8.64e15)],
  ['a date beyond all calendars', new Date(8.64e15)],
  ['a date whose methods throw', Object.assign(new Date(Number.NaN), { toISOString: fail, getTime: fail })],
];

const never = (value: unknown): never => value as never;

/** Each input of the client and of the administration, with one value in it. */
const inputs: Readonly<Record<string, (value: never) => Promise<unknown>>> = {
  task: (value) => queue.insertTask(value),
  publication: (value) => queue.insertTaskPubSub(value),
  webhook: (value) => queue.insertTaskWebhook(value),
  batch: (value) => queue.insertTasks(value),
  'task of a batch': (value) => queue.insertTasks([value]),
  tx: (value) => queue.insertTask({ topic: 'x' }, { tx: value }),
  topic: (value) => queue.insertTask({ topic: value }),
  externalKey: (value) => queue.insertTask({ externalKey: value }),
  origin: (value) => queue.insertTask({ origin: value }),
  destination: (value) => queue.insertTask({ destination: value }),
  tenant: (value) => queue.insertTask({ tenant: value }),
  group: (value) => queue.insertTask({ group: value }),
  priority: (value) => queue.insertTask({ priority: value }),
  runAt: (value) => queue.insertTask({ runAt: value }),
  delayMs: (value) => queue.insertTask({ delayMs: value }),
  metadata: (value) => queue.insertTask({ metadata: { a: value } }),
  equivalent: (value) => queue.listEquivalentTask(value),
  'equivalent status': (value) => queue.listEquivalentTask({ status: value }),
  'counts since': (value) => admin.counts({ since: value }),
  hasWaited: (value) => admin.hasWaited(value),
  filter: (value) => admin.list(value),
  'filter status': (value) => admin.list({ status: value }),
  'filter topic': (value) => admin.list({ topic: value }),
  'filter tenant': (value) => admin.list({ tenant: value }),
  'filter since': (value) => admin.list({ since: value }),
  'filter until': (value) => admin.list({ until: value }),
  'filter dead': (value) => admin.list({ dead: value }),
  'filter message': (value) => admin.list({ message: value }),
  'filter publication': (value) => admin.list({ publicationId: value }),
  limit: (value) => admin.list({}, { limit: value }),
  after: (value) => admin.list({}, { after: value }),
  find: (value) => admin.find(value),
  retry: (value) => admin.retry(value),
  runNow: (value) => admin.runNow(value),
  cancel: (value) => admin.cancel(value),
  'cancel by key': (value) => admin.cancel({ topic: 'x', externalKey: value }),
  'cancel by topic': (value) => admin.cancel({ topic: value, externalKey: 'x' }),
  'cancel by': (value) => admin.cancel('1', { by: value }),
  bury: (value) => admin.bury(value),
  delete: (value) => admin.delete(value),
  waitFor: (value) => admin.waitFor(value),
  'waitFor timeoutMs': (value) => admin.waitFor('1', { timeoutMs: value }),
  pause: (value) => admin.pause(value),
  'pause topic': (value) => admin.pause({ topic: value }),
  'pause subscription': (value) => admin.pause({ subscriptionId: value }),
  resume: (value) => admin.resume({ topic: value }),
  subscription: (value) => admin.subscriptions.add(value),
  'subscription id': (value) => admin.subscriptions.find(value),
  'subscriptions of a topic': (value) => admin.subscriptions.list({ topic: value }),
  'subscription removed': (value) => admin.subscriptions.remove(value),
  'subscription url': (value) => admin.subscriptions.add({ id: 'x', topic: 'x', url: value }),
  'subscription headers': (value) => admin.subscriptions.add({ id: 'x', topic: 'x', headers: value }),
  'subscription tenant': (value) => admin.subscriptions.add({ id: 'x', topic: 'x', tenant: value }),
};

/** Objects without any field that is asked for: all fields are left out. */
const fieldless: readonly string[] = [
  'nothing to convert',
  'an invalid date',
  'a date of the year 0',
  'a date before Christ',
  'a date beyond all calendars',
];

/** What is no mistake, by input: such a call does what it says. Everything else is refused. */
const sound: Readonly<Record<string, readonly string[]>> = {
  task: fieldless,
  'task of a batch': fieldless,
  equivalent: fieldless,
  filter: fieldless,
  'subscription headers': ['nothing to convert'],
  // Stored as JSON writes them.
  metadata: [
    ...fieldless,
    'NaN',
    'infinity',
    'a number',
    'a symbol',
    'a function',
    'a list',
    'a date whose methods throw',
  ],
};

test.each(Object.entries(inputs))(
  '%s of any kind is refused with INPUT_INVALID, never by the database or a TypeError',
  async (name, call) => {
    const outcomes: Record<string, string> = {};
    for (const [kind, value] of hostile) {
      outcomes[kind] = await call(never(value)).then(
        () => 'done',
        (error: unknown) => String((error as { readonly code?: unknown }).code ?? error),
      );
    }
    const allowed = sound[name] ?? [];
    expect(outcomes).toEqual(
      Object.fromEntries(hostile.map(([kind]) => [kind, allowed.includes(kind) ? 'done' : 'INPUT_INVALID'])),
    );
  },
);

test.each([
  '2126-02-30T10:00:00Z',
  '2125-02-29T10:00:00Z',
  '2126-04-31T10:00:00Z',
  '0000-01-01T00:00:00Z',
  '2126-01-01T10:00:00+16:00',
  '2126-01-01T10:61:00Z',
])('a task at %s is refused: there is no such time, or PostgreSQL has none', async (runAt) => {
  await expect(queue.insertTask({ runAt })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('on a day that exists, in the years 1 to 9999') as unknown,
  });
});

test('a getter is asked once: what was checked is what is stored', async () => {
  let times = 0;
  const input = {
    get topic() {
      times += 1;
      return times === 1 ? 'once' : 'x'.repeat(300);
    },
  };
  const id = await queue.insertTask(input);
  expect((await bench.row(id))['processo']).toBe('once');
});

test('metadata that PostgreSQL could not nest is refused', async () => {
  const metadata = JSON.parse(`{"a":${'['.repeat(600)}${']'.repeat(600)}}`) as never;
  await expect(queue.insertTask({ metadata })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
