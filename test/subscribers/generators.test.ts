import { Injectable } from '@nestjs/common';
import { defer, of } from 'rxjs';
import { expect, test } from 'vitest';
import { OnQueueEvent, TaskHandler } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const refusal =
  /cannot work: it is a generator, and calling a generator runs none of it\. Make it an async method/;

test('generators are refused at start by name: handlers and listeners, sync and async', async () => {
  class Sync {
    @TaskHandler('generated')
    *run(): Iterable<number> {
      yield 1;
    }
  }
  class Async {
    @TaskHandler('generated')
    async *run(): AsyncIterable<number> {
      yield 1;
    }
  }
  class Listening {
    @OnQueueEvent('task.completed')
    *run(): Iterable<number> {
      yield 1;
    }
  }
  for (const handler of [Sync, Async, Listening]) {
    const starting = bench.start({ handlers: [handler] });
    await expect(starting).rejects.toMatchObject({
      code: 'HANDLER_INVALID',
      message: expect.stringMatching(refusal) as unknown,
    });
    await expect(starting).rejects.toThrow(`${handler.name}.run`);
  }
});

/** What a compiler makes of a generator for an old target. */
function translated(): object {
  const ended = { done: true, value: undefined };
  return {
    next: () => ended,
    return: () => ended,
    throw: () => ended,
    [Symbol.asyncIterator]: () => undefined,
  };
}

test('one that cannot be seen at start fails its attempts; what only looks alike is a result', async () => {
  function* generate(): Iterable<number> {
    yield 1;
  }
  async function* generateLater(): AsyncIterable<number> {
    yield 1;
  }
  @Injectable()
  class Hidden {
    @TaskHandler('sync')
    sync(): unknown {
      return generate();
    }
    @TaskHandler('async', { timeoutMs: 10_000 })
    async later(): Promise<unknown> {
      return generateLater();
    }
    @TaskHandler('translated')
    translated(): unknown {
      return translated();
    }
    @TaskHandler('iterator')
    iterator(): unknown {
      return { next: () => 1, return: 2, throw: 3, [Symbol.iterator]: 4 };
    }
  }
  const { queue } = await bench.start({ handlers: [Hidden], maxAttempts: 1 });
  const run = async (topic: string) => bench.ended(await queue.insertTask({ topic }));
  for (const [topic, method] of [
    ['sync', 'sync'],
    ['async', 'later'],
    ['translated', 'translated'],
  ] as const) {
    const { status, mensagem } = await run(topic);
    expect(status).toBe('falha');
    expect(mensagem).toMatch(new RegExp(`^Hidden\\.${method} was not run: it is a generator`));
  }
  expect(await run('iterator')).toMatchObject({ status: 'sucesso' });
});

@Injectable()
class Late {
  subscribed = 0;
  @TaskHandler('late')
  async late() {
    return this.values();
  }
  @TaskHandler('timed', { timeoutMs: 10_000 })
  async timed() {
    return this.values();
  }
  values() {
    return defer(() => {
      this.subscribed += 1;
      return of('first', 'last');
    });
  }
}

test('an observable that a handler resolves with is run to its end', async () => {
  const { queue, app } = await bench.start({ handlers: [Late] });
  for (const topic of ['late', 'timed']) {
    expect(await bench.ended(await queue.insertTask({ topic }))).toMatchObject({ mensagem: 'last' });
  }
  expect(app.get(Late, { strict: false }).subscribed).toBe(2);
});

test('its end is what wrapHandler waits for', async () => {
  const wrapped: unknown[] = [];
  const { queue } = await bench.start({
    handlers: [Late],
    wrapHandler: async (next) => {
      const value = await next();
      wrapped.push(value);
      return value;
    },
  });
  expect(await bench.ended(await queue.insertTask({ topic: 'late' }))).toMatchObject({ mensagem: 'last' });
  expect(wrapped).toEqual(['last']);
});
