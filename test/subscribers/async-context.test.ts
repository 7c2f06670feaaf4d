import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, UseGuards } from '@nestjs/common';
import { of } from 'rxjs';
import { expect, test } from 'vitest';
import { OnQueueEvent, TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const storage = new AsyncLocalStorage<string>();

/** Notes what store a handler starts with, and leaves another one behind. */
function makeHandlers() {
  const seen: unknown[] = [];
  const enter = (store: string): void => {
    seen.push(storage.getStore());
    storage.enterWith(store);
  };
  @Injectable()
  class Handlers {
    @TaskHandler('plain')
    async plain(): Promise<string> {
      enter('of a handler');
      await new Promise((resolve) => setImmediate(resolve));
      return String(storage.getStore());
    }
    @TaskHandler('guarded')
    @UseGuards({ canActivate: () => true })
    guarded(): void {
      enter('of a guarded handler');
    }
    @TaskHandler('late')
    async late() {
      enter('of a late handler');
      return of('the last value');
    }
    @TaskHandler('failing', {
      maxAttempts: 2,
      retry: () => {
        enter('of a rule for retries');
        return 0;
      },
    })
    failing(): void {
      enter('of a failing handler');
      throw new Error('of the handler');
    }
  }
  return { Handlers, seen };
}

test('what a handler enters is its own: the next ones of its claim and of the loop start without', async () => {
  const { Handlers, seen } = makeHandlers();
  const { queue } = await bench.start({ handlers: [Handlers] });
  for (const round of [1, 2]) {
    const topics = ['plain', 'guarded', 'late', 'plain', 'guarded'];
    const ids = await queue.insertTasks(topics.map((topic) => ({ topic, payload: { round } })));
    const ended = await Promise.all(ids.map((id) => bench.ended(id)));
    expect(ended.map(({ mensagem }) => mensagem)).toEqual([
      'of a handler',
      'completed',
      'the last value',
      'of a handler',
      'completed',
    ]);
    await bench.endedChain(await queue.insertTask({ topic: 'failing' }), 2);
  }
  // In each round: five handlers, two that fail, and the rule for each of these.
  expect(seen).toHaveLength(18);
  expect(new Set(seen)).toEqual(new Set([undefined]));
});

test('a rule for retries that is asked for an attempt that was not run leaves nothing behind', async () => {
  const { Handlers, seen } = makeHandlers();
  const { queue } = await bench.start({ handlers: [Handlers], autoStart: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, tentativa) values ('failing', 7) returning id`,
  );
  const other = await queue.insertTask({ topic: 'plain' });
  const { worker } = await bench.start({ handlers: [Handlers] });
  await bench.ended(rows[0]?.id ?? '');
  await bench.ended(other);
  await worker.stop();
  expect(seen.length).toBeGreaterThan(1);
  expect(new Set(seen)).toEqual(new Set([undefined]));
});

test('what a listener enters is its own, whatever it listens by and whatever it listens to', async () => {
  const { Handlers, seen } = makeHandlers();
  const heard: unknown[] = [];
  const listen = (name: string): void => {
    heard.push([name, storage.getStore()]);
    storage.enterWith(`of ${name}`);
  };
  @Injectable()
  class Listeners {
    @OnQueueEvent('task.claimed')
    claimed(): void {
      listen('a method');
    }
  }
  const { queue, events } = await bench.start({ handlers: [Handlers, Listeners] });
  events.on('task.claimed', () => listen('a function'));
  events.observe('task.claimed').subscribe(() => listen('an observer'));
  for (const _ of [1, 2]) await bench.ended(await queue.insertTask({ topic: 'plain' }));
  const once = ['a method', 'a function', 'an observer'].map((name) => [name, undefined]);
  expect(heard).toEqual([...once, ...once]);
  expect(seen).toEqual([undefined, undefined]);
});

test('a worker that is started inside of some context does not hand it on; the one of the module counts', async () => {
  const { Handlers, seen } = makeHandlers();
  const { queue, worker } = await storage.run('of the module', () =>
    bench.start({ handlers: [Handlers], autoStart: false }),
  );
  await storage.run('of the start', () => worker.start());
  for (const topic of ['plain', 'guarded', 'late']) await bench.ended(await queue.insertTask({ topic }));
  expect(seen).toEqual(['of the module', 'of the module', 'of the module']);
});

test('who listens to ctx.signal is called in the context of its handler, and leaves nothing behind', async () => {
  const heard: unknown[] = [];
  const begun = deferred();
  const told = deferred();
  @Injectable()
  class Waiting {
    @TaskHandler('waiting')
    waiting(_: unknown, ctx: TaskContext): Promise<void> {
      return storage.run(`of task ${ctx.task.externalKey}`, async () => {
        const aborted = new Promise<void>((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            heard.push(storage.getStore());
            storage.enterWith('of a listener');
            resolve();
          });
        });
        if (ctx.task.externalKey === 'b') begun.resolve();
        await aborted;
        await told.promise;
      });
    }
  }
  const { queue, worker, events } = await bench.start({ handlers: [Waiting], shutdownTimeoutMs: 1_000 });
  const stopped = nextEvent(events, 'worker.stopped');
  let store: string | undefined = 'not heard';
  events.on('worker.stopped', () => (store = storage.getStore()));
  await queue.insertTasks(['a', 'b'].map((externalKey) => ({ topic: 'waiting', externalKey })));
  await begun.promise;
  const stopping = worker.stop();
  await until(async () => heard.length === 2, 'both listeners');
  told.resolve();
  await Promise.all([stopping, stopped]);
  expect(new Set(heard)).toEqual(new Set(['of task a', 'of task b']));
  expect(store).toBeUndefined();
});
