import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { useQueue, type AttemptRow } from './queue-bench.js';

// What a handler throws or returns, whatever it is, ends its attempt in a defined way: no task is lost, no
// process dies. vitest fails the file when anything is left unhandled.
const bench = useQueue();

const hostile = (): never => {
  throw new Error('you shall not look');
};
const raise = (value: unknown): never => {
  throw value;
};
const circular: Record<string, unknown> = {};
circular['self'] = circular;

interface Case {
  readonly value: unknown;
  readonly message: string;
}
type Cases = Readonly<Record<string, Case>>;

/** Runs all cases at once, each in a task of its own; returns the rows by the names of the cases. */
async function runAll(cases: Readonly<Record<string, unknown>>, handle: (value: unknown) => unknown) {
  class Bad {
    @TaskHandler('bad', { maxAttempts: 1 })
    bad(name: string): unknown {
      return handle(cases[name]);
    }
    @TaskHandler('good')
    good(): void {}
  }
  const { queue, worker } = await bench.start({ handlers: [Bad], maxPayloadBytes: 100_000 });
  const names = Object.keys(cases);
  const ids = await queue.insertTasks(names.map((payload) => ({ topic: 'bad', payload })));
  const rows = await Promise.all(ids.map((id) => bench.ended(id)));
  // Every slot is free again.
  expect(await bench.ended(await queue.insertTask({ topic: 'good' }))).toMatchObject({ status: 'sucesso' });
  expect(worker.running).toBe(0);
  return Object.fromEntries(rows.map((row, index) => [names[index] ?? '', row]));
}

function outcomesOf(rows: Readonly<Record<string, AttemptRow>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(rows).map(([name, { status, mensagem, resultado }]) => [
      name,
      [status, mensagem, resultado],
    ]),
  );
}

function expectedOf(cases: Cases): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(cases).map(([name, { message }]) => [
      name,
      ['falha', expect.stringContaining(message), null],
    ]),
  );
}

const indescribable = 'the handler threw something that cannot be described';

/** What may be thrown, and how its message begins. */
const thrown: Cases = {
  'a string': { value: 'out of paper', message: 'out of paper' },
  'an empty string': { value: '', message: "the handler threw ''" },
  nothing: { value: undefined, message: 'the handler threw undefined' },
  null: { value: null, message: 'the handler threw null' },
  'a number': { value: 42, message: 'the handler threw 42' },
  'a symbol': { value: Symbol('s'), message: 'the handler threw Symbol(s)' },
  'an object': { value: { code: 7 }, message: 'the handler threw { code: 7 }' },
  'an object with more in it': {
    value: { code: 7, body: { token: 's3cret' } },
    message: 'the handler threw { code: 7, body: … }',
  },
  'an object with a message': { value: { message: 'no stock', status: 409 }, message: 'no stock' },
  'a list': { value: ['s3cret'], message: 'the handler threw a list of 1 values' },
  'a map': { value: new Map([['token', 's3cret']]), message: 'the handler threw Map {}' },
  'a function': { value: Object.assign(hostile, { token: 's3cret' }), message: '[Function: hostile]' },
  'an error of another realm': {
    value: runInNewContext('new TypeError("far away")') as unknown,
    message: 'far away',
  },
  'an object with a hostile toString': {
    value: { toString: hostile },
    message: 'the handler threw { toString:',
  },
  'an object that is hostile to inspection': {
    value: { [Symbol.for('nodejs.util.inspect.custom')]: hostile },
    message: 'the handler threw {}',
  },
  'an error with a hostile code': {
    value: Object.defineProperty(new Error('coded'), 'code', { get: hostile }),
    message: 'coded',
  },
  'a proxy with hostile traps': {
    value: new Proxy({}, { get: hostile, getPrototypeOf: hostile }),
    message: indescribable,
  },
  'an error without message': { value: new TypeError(''), message: 'TypeError' },
  'an error with a hostile message': {
    value: Object.defineProperty(new Error('x'), 'message', { get: hostile }),
    message: indescribable,
  },
  'an error whose message is no string': {
    value: Object.assign(new Error('x'), { message: 42 }),
    message: '42',
  },
  'an error with a circular cause': {
    value: new Error('circular', { cause: circular }),
    message: 'circular',
  },
  'an error that only has the name of ours': {
    value: Object.assign(new Error('later'), { name: 'RetryAt' }),
    message: 'later',
  },
  'an error with a hostile date': {
    value: Object.defineProperty(Object.assign(new Error('later'), { name: 'RetryAt' }), 'date', {
      get: hostile,
    }),
    message: 'later',
  },
};

test.each([
  { how: 'throws', fail: (value: unknown) => raise(value) },
  { how: 'rejects with', fail: (value: unknown) => Promise.reject(value) },
])('whatever a handler $how, its attempt fails with a message', async ({ fail }) => {
  const rows = await runAll(thrown, (one) => fail((one as Case).value));
  expect(outcomesOf(rows)).toEqual(expectedOf(thrown));
  for (const { mensagem, erro } of Object.values(rows)) {
    expect(mensagem).toMatch(/ \(no attempts left\)$/);
    expect(erro).toMatch(/./);
    expect(`${mensagem}${String(erro)}`).not.toContain('s3cret');
  }
  // What is hostile in it hides nothing else.
  expect(rows['an error with a hostile code']?.erro).toMatch(/^Error: coded\n {4}at /);
});

/** What cannot be recorded, and what the message says of it. */
const returned: Cases = {
  'a BigInt': { value: 1n, message: 'it cannot be written as JSON: TypeError' },
  'a circular object': { value: circular, message: 'it cannot be written as JSON: TypeError' },
  'a function': { value: () => undefined, message: 'it is a function, which cannot be written as JSON' },
  'a symbol': { value: Symbol('s'), message: 'it is a symbol, which cannot be written as JSON' },
  'an object with a hostile toJSON': { value: { toJSON: hostile }, message: 'you shall not look' },
  'an object that is written as nothing': {
    value: { toJSON: () => undefined },
    message: 'it has a toJSON() that returns nothing',
  },
  'a result that is too large': {
    value: { text: 'x'.repeat(100_000) },
    message: 'it has 100011 bytes, more than maxPayloadBytes (100000)',
  },
  'a Map': { value: new Map([[1, 2]]), message: 'of type Map, which JSON would write as {}' },
  'a Set inside': { value: { all: [new Set([1])] }, message: 'of type Set, which' },
  'an error': { value: [new Error('x')], message: 'of type Error, which' },
  'what is still to come': { value: { later: Promise.resolve(1) }, message: 'of type Promise, which' },
  'a query': { value: { query: new URLSearchParams('a=1') }, message: 'of type URLSearchParams, which' },
};

test('a return value that cannot be recorded leaves its task succeeded, and the message says why', async () => {
  const rows = await runAll(returned, (one) => (one as Case).value);
  const expected = Object.entries(returned).map(([name, { message }]) => [
    name,
    ['sucesso', expect.stringMatching(/^result not recorded: [^\n]+$/), null],
    expect.stringContaining(message),
  ]);
  const seen = Object.entries(outcomesOf(rows)).map(([name, outcome]) => [
    name,
    outcome,
    rows[name]?.mensagem,
  ]);
  expect(seen).toEqual(expected);
});

test('what holds nothing is recorded as it is', async () => {
  class Empty {
    readonly #hidden = 1;
    hidden(): number {
      return this.#hidden;
    }
  }
  const rows = await runAll(
    { object: {}, nested: [{ a: undefined }, {}], instance: new Empty() },
    (one) => one,
  );
  expect(Object.values(rows).map(({ mensagem, resultado }) => [mensagem, resultado])).toEqual([
    ['completed', '{}'],
    ['completed', '[{},{}]'],
    ['completed', '{}'],
  ]);
});

test('a promise that throws when it is awaited is a handler that throws', async () => {
  const rows = await runAll({ hostile: { then: hostile } }, (value) => value);
  expect(rows['hostile']).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('you shall not look'),
  });
});

test('a text of a megabyte is cut, and NUL characters, which PostgreSQL cannot store, are left out', async () => {
  const rows = await runAll(
    { long: 'é'.repeat(1_000_000), nul: 'a\0b', object: { text: 'a\0b' } },
    (value) => value,
  );
  expect(rows['long']).toMatchObject({ status: 'sucesso', mensagem: 'é'.repeat(500), resultado: null });
  expect(rows['nul']).toMatchObject({ status: 'sucesso', mensagem: 'ab' });
  expect(rows['object']).toMatchObject({ status: 'sucesso', resultado: '{"text":"a\\u0000b"}' });
});
