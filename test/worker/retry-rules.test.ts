import { expect, test } from 'vitest';
import {
  DeadTaskHandler,
  RetryAt,
  RetryIn,
  TaskHandler,
  UnrecoverableError,
  type TaskContext,
} from '../../lib/index.js';
import { useQueue, type AttemptRow } from './queue-bench.js';

const bench = useQueue();

class Rules {
  @TaskHandler('unrecoverable')
  unrecoverable(): void {
    throw new UnrecoverableError('order was cancelled');
  }
  @TaskHandler('at')
  at(date: string): void {
    throw new RetryAt(new Date(date), 'not before that');
  }
  @TaskHandler('delay', { retryDelayMs: 90_000 })
  delay(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule', { retry: (attempt) => attempt * 1_000 })
  rule(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule that throws', { retry: () => JSON.parse('no') as number })
  throwing(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule of nonsense', { retry: () => Number.NaN })
  nonsense(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule of a promise', { retry: (async () => Promise.reject(new Error('later'))) as never })
  promised(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule of text', { retry: (() => '5000') as never })
  text(): void {
    throw new Error('boom');
  }
  @TaskHandler('in')
  in(): void {
    throw new RetryIn(Number.NaN, 'in a while');
  }
  @TaskHandler('rule into the past', { retry: () => -1_000, maxAttempts: 2 })
  past(): void {
    throw new Error('boom');
  }
  @TaskHandler('rule for ever', { retry: () => Number.MAX_VALUE })
  forEver(): void {
    throw new Error('boom');
  }
  @TaskHandler('two attempts', { maxAttempts: 2, retryDelayMs: 0 })
  two(): void {
    throw new Error('boom');
  }
}

/** Inserts a task due at a known time and answers its first attempt, failed. */
async function failOnce(topic: string, payload?: string) {
  const { queue, events } = await bench.start({
    handlers: [Rules],
    maxAttempts: 5,
    retryIntervalMinutes: 5,
  });
  const warnings: string[] = [];
  events.on('warning', ({ message }) => warnings.push(message));
  const id = await queue.insertTask({ topic, payload, runAt: '2024-01-01T00:00:00.000001Z' });
  return { queue, id, row: await bench.ended(id), warnings };
}

/** Milliseconds from the failure to the next attempt. */
function delayOf({ proxima_tentativa, finalizada_em }: AttemptRow): number {
  return (proxima_tentativa as Date).getTime() - (finalizada_em as Date).getTime();
}

test('UnrecoverableError skips the remaining attempts', async () => {
  const { id, row } = await failOnce('unrecoverable');
  expect(row).toMatchObject({
    status: 'falha',
    mensagem: 'order was cancelled (no attempts left)',
    reenfileirado: false,
    estouro_tentativas: true,
    proxima_tentativa: null,
  });
  expect((await bench.chain(id))[1]).toMatchObject({ dead: true, live_id: id, tentativa: 1 });
});

test.each(['2100-01-02T03:04:05.678Z', '2023-05-06T07:08:09.010Z'])(
  'RetryAt chooses when the next attempt is due: %s',
  async (date) => {
    const { id, row } = await failOnce('at', date);
    expect(row).toMatchObject({ proxima_tentativa: new Date(date), reenfileirado: true });
    expect(row.mensagem).toBe('not before that (will be tried again)');
    expect((await bench.chain(id))[1]).toMatchObject({ tentativa: 2, data_hora: new Date(date) });
  },
);

test.each(['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z', '+010000-01-01T00:00:00.000Z'])(
  'RetryAt with a date that PostgreSQL cannot hold or read is cut to one that it can: %s',
  async (date) => {
    const { row } = await failOnce('at', date);
    expect(row).toMatchObject({ status: 'falha', mensagem: 'not before that (will be tried again)' });
    const year = (row['proxima_tentativa'] as Date).getUTCFullYear();
    expect(year).toBe(date.startsWith('-') ? 1970 : 9999);
  },
);

test('retryDelayMs and retry count from the failure', async () => {
  expect(delayOf((await failOnce('delay')).row)).toBeCloseTo(90_000, -3);
  expect(delayOf((await failOnce('rule')).row)).toBeCloseTo(1_000, -3);
});

test('retry is given the number of the attempt that failed', async () => {
  const { id } = await failOnce('rule');
  const [, second] = await bench.endedChain(id, 2);
  expect(delayOf(second as AttemptRow)).toBeCloseTo(2_000, -3);
});

test.each<[topic: string, problem: RegExp, payload?: string]>([
  ['rule that throws', /its retry function threw: .*not valid JSON/],
  ['rule of nonsense', /its retry function returned NaN, which is not a number of milliseconds/],
  ['rule of a promise', /its retry function returned a promise, which/],
  ['rule of text', /its retry function returned "5000", which/],
  ['in', /RetryIn was thrown with NaN, which is not a number of milliseconds/],
  ['at', /RetryAt was thrown with an invalid date/, 'tomorrow'],
])(
  'nonsense loses no failure, and is said: the rule of the queue counts (%s)',
  async (topic, problem, payload) => {
    const { id, row, warnings } = await failOnce(topic, payload);
    expect(row['proxima_tentativa']).toEqual(new Date('2024-01-01T00:05:00.000Z'));
    // Due at once, its next attempts fail alike.
    const [warning, ...others] = new Set(warnings);
    expect(others).toEqual([]);
    expect(warning).toMatch(problem);
    expect(warning).toContain(`task ${id} (`);
    expect(warning).toMatch(/: the rule of the queue applies$/);
  },
);

test('a rule outside of sensible bounds is cut to them', async () => {
  expect(delayOf((await failOnce('rule into the past')).row)).toBeCloseTo(0, -3);
  const years = delayOf((await failOnce('rule for ever')).row) / (365 * 86_400_000);
  expect(years).toBeCloseTo(10, 1);
});

test('maxAttempts of a handler counts instead of that of the queue', async () => {
  const { id } = await failOnce('two attempts');
  const chain = await bench.endedChain(id, 2);
  expect(chain.filter((row) => row['dead'] === false)).toHaveLength(2);
  expect(chain[1]).toMatchObject({ estouro_tentativas: true });
});

test.each<{ readonly size: string; readonly payload: object }>([
  { size: 'small', payload: { a: [1] } },
  { size: 'too large to come with the claim', payload: { a: 'x'.repeat(100_000) } },
])('every attempt, live or dead, receives the payload of the first row ($size)', async ({ payload }) => {
  const seen: unknown[] = [];
  class Curious {
    @TaskHandler('curious', { retryDelayMs: 0, maxAttempts: 2 })
    live(arrived: unknown, { task }: TaskContext): void {
      seen.push([arrived, task.attempt, task.dead]);
      throw new Error('again');
    }
    @DeadTaskHandler('curious', { retryDelayMs: 0, maxAttempts: 2 })
    dead(arrived: unknown, ctx: TaskContext): void {
      this.live(arrived, ctx);
    }
  }
  const { queue } = await bench.start({ handlers: [Curious] });
  const id = await queue.insertTask({ topic: 'curious', payload });
  await bench.endedChain(id, 4);
  expect(seen).toEqual([
    [payload, 1, false],
    [payload, 2, false],
    [payload, 1, true],
    [payload, 2, true],
  ]);
});
