import { Controller, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { expect, test } from 'vitest';
import { QueueClient, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { onPostgres } from '../support/run-database.js';

const bench = useQueue();

test('a request-scoped provider gets a fresh instance for each task, whose context it can inject', async () => {
  const seen: unknown[] = [];
  const instances = new Set<object>();
  @Injectable({ scope: Scope.REQUEST })
  class Audit {
    constructor(@Inject(REQUEST) private readonly context: TaskContext) {}
    get key(): string {
      return this.context.task.key;
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class Scoped {
    constructor(
      @Inject(REQUEST) private readonly context: TaskContext,
      private readonly audit: Audit,
      @Inject(QueueClient) private readonly queue: QueueClient,
    ) {}
    @TaskHandler('scoped')
    async run(payload: unknown, ctx: TaskContext): Promise<void> {
      instances.add(this);
      const isSame = this.context === ctx && this.audit.key === ctx.task.key;
      const { rows } = await this.context.db.query(onPostgres ? 'select 1 as one' : 'select 1e0 as one');
      seen.push([payload, isSame, rows, typeof this.queue.insertTask]);
    }
  }
  const { queue } = await bench.start({ handlers: [Scoped, Audit] });
  const ids = await queue.insertTasks([1, 2, 3].map((payload) => ({ topic: 'scoped', payload: [payload] })));
  for (const id of ids) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
    new Set([1, 2, 3].map((n) => JSON.stringify([[n], true, [{ one: 1 }], 'function']))),
  );
  expect(instances.size).toBe(3);
});

test('a provider that depends on a request-scoped one is made again as well', async () => {
  const keys: string[] = [];
  @Injectable({ scope: Scope.REQUEST })
  class Inner {
    constructor(@Inject(REQUEST) readonly context: TaskContext) {}
  }
  @Injectable()
  class Outer {
    constructor(private readonly inner: Inner) {}
    @Subscriber('outer')
    run(_: unknown, { task }: TaskContext): void {
      keys.push(`${this.inner.context.task.key === task.key} ${this.inner.context.subscription?.id}`);
    }
  }
  const { queue } = await bench.start({ handlers: [Outer, Inner] });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('outer', 'published')`);
  await queue.insertTaskPubSub({ topic: 'published' });
  await until(async () => keys.length > 0, 'the delivery');
  expect(keys).toEqual(['true outer']);
});

test('a request-scoped controller handles as well', async () => {
  const topics: unknown[] = [];
  @Controller({ path: 'orders', scope: Scope.REQUEST })
  class OrdersController {
    constructor(@Inject(REQUEST) private readonly context: TaskContext) {}
    @TaskHandler('controller')
    run(): void {
      topics.push(this.context.task.topic);
    }
  }
  @Module({ controllers: [OrdersController] })
  class OrdersModule {}
  const { queue } = await bench.start({ imports: [{ module: OrdersModule }] });
  expect(await bench.ended(await queue.insertTask({ topic: 'controller' }))).toMatchObject({
    status: 'sucesso',
  });
  expect(topics).toEqual(['controller']);
});

test('a transient provider handles with what it was constructed with', async () => {
  const seen: unknown[] = [];
  @Injectable({ scope: Scope.TRANSIENT })
  class Transient {
    readonly made = 'by its constructor';
    constructor(@Inject(QueueClient) private readonly queue: QueueClient) {}
    @TaskHandler('transient')
    run(): void {
      seen.push([this.made, typeof this.queue?.insertTask]);
    }
  }
  const { queue } = await bench.start({ handlers: [Transient] });
  expect(await bench.ended(await queue.insertTask({ topic: 'transient' }))).toMatchObject({
    status: 'sucesso',
  });
  expect(seen).toEqual([['by its constructor', 'function']]);
});

test('a provider that cannot be made fails the attempt, not the process', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Broken {
    constructor() {
      throw new Error('no such file');
    }
    @TaskHandler('broken')
    run(): void {}
  }
  const { queue } = await bench.start({ handlers: [Broken], maxAttempts: 1 });
  const row = await bench.ended(await queue.insertTask({ topic: 'broken' }));
  expect(row).toMatchObject({ status: 'falha', mensagem: 'no such file (no attempts left)' });
});

test('two request-scoped providers of one class are refused like others', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Twice {
    @TaskHandler('twice')
    run(): void {}
  }
  const handlers = [Twice, { provide: 'again', useClass: Twice, scope: Scope.REQUEST }];
  await expect(bench.start({ handlers })).rejects.toThrow(/declared twice: Twice\.run and Twice\.run/);
});
