import { expect, test } from 'vitest';
import type { Failure, FailureOutcome } from '../../lib/storage/attempt.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';
import { writeFailures } from '../../lib/storage/write-failures.js';

class Refused extends Error {
  constructor(readonly kind: ErrorKind) {
    super(kind);
  }
}

/** A database that refuses statements by what they hold. */
function database(refuse: (failure: Failure) => ErrorKind | undefined) {
  const statements: (readonly Failure[])[] = [];
  return {
    statements,
    attempts: {
      failMany: async (failures: readonly Failure[]): Promise<readonly FailureOutcome[]> => {
        statements.push(failures);
        for (const failure of failures) {
          const kind = refuse(failure);
          if (kind) throw new Refused(kind);
        }
        return failures.map(({ id }) => ({ id, nextAttemptInMs: undefined, deadId: undefined }));
      },
    },
    classify: (error: unknown) => (error as Refused).kind,
  };
}

const failureOf = (id: number): Failure => ({
  id: String(id),
  reservation: 1,
  workerId: '7',
  message: 'no stock',
  error: 'Error: no stock',
  next: { kind: 'after-due', delayMs: 1_000 },
  nextLosses: 0,
  note: ' (will be tried again)',
});

const some = (count: number): Failure[] => Array.from({ length: count }, (_, index) => failureOf(index));
const write = (given: ReturnType<typeof database>, batches: readonly (readonly Failure[])[]) =>
  writeFailures(given as never, batches);
const idsOf = (list: readonly { readonly id: string }[]) =>
  list.map(({ id }) => Number(id)).sort((a, b) => a - b);

test('failures that nothing refuses take one statement', async () => {
  const given = database(() => undefined);
  const { outcomes } = await write(given, [some(100), []]);
  expect(outcomes).toHaveLength(100);
  expect(given.statements).toHaveLength(1);
});

test('one row that cannot be failed holds up no other of its batch', async () => {
  const given = database(({ id }) => (id === '3' ? 'row' : undefined));
  const { outcomes, refused, left } = await write(given, [some(8)]);
  expect(idsOf(outcomes)).toEqual([0, 1, 2, 4, 5, 6, 7]);
  expect(refused.map(({ failure, error }) => [failure.id, (error as Error).message])).toEqual([['3', 'row']]);
  expect(left).toEqual([]);
});

test('a failure whose texts cannot be stored is written without them, and keeps its next attempt', async () => {
  const given = database(({ message }) => (message === 'no stock' ? 'value' : undefined));
  const { outcomes, refused } = await write(given, [some(1)]);
  expect(outcomes).toHaveLength(1);
  expect(refused).toEqual([]);
  expect(given.statements.at(-1)?.[0]).toMatchObject({
    untouched: true,
    error: null,
    next: { kind: 'after-failure', delayMs: 1_000 },
  });
});

test('the payload is left alone before the texts are given up', async () => {
  const given = database(({ untouched }) => (untouched ? undefined : 'value'));
  await write(given, [some(1)]);
  expect(given.statements.at(-1)?.[0]).toMatchObject({ untouched: true, message: 'no stock' });
});

test('a failure refused however plain it is is told with the last error, once', async () => {
  const given = database(() => 'value');
  const { refused } = await write(given, [some(1)]);
  expect(given.statements).toHaveLength(3);
  expect(refused).toHaveLength(1);
});

test('a lost connection leaves what was not written, and tells what was', async () => {
  const given = database(({ id }) => (id === '4' ? 'connection' : undefined));
  const { outcomes, left, error } = await write(given, [some(2), [failureOf(4)], [failureOf(5)]]);
  expect(idsOf(outcomes)).toEqual([0, 1]);
  expect(idsOf(left)).toEqual([4, 5]);
  expect((error as Error).message).toBe('connection');
});

test('a table that refuses everything takes a bounded number of statements, and loses nothing', async () => {
  const given = database(() => 'row');
  const { outcomes, refused, left, error } = await write(given, [some(200)]);
  expect(given.statements.length).toBeLessThan(30);
  expect(outcomes).toEqual([]);
  expect(error).toBeUndefined();
  expect(refused.length).toBeGreaterThan(0);
  expect(idsOf([...refused.map(({ failure }) => failure), ...left])).toEqual(idsOf(some(200)));
});
