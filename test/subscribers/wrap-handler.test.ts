import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, UseGuards } from '@nestjs/common';
import { CLS_ID, ClsModule, ClsService, ClsServiceManager } from 'nestjs-cls';
import { of, throwError } from 'rxjs';
import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const tenants = new AsyncLocalStorage<string | null>();

test('wrapHandler runs around every handler and its guards, and sees how it ends', async () => {
  const ends: unknown[] = [];
  @Injectable()
  class Handlers {
    @TaskHandler('plain')
    plain(): string {
      return `plain for ${tenants.getStore()}`;
    }
    @TaskHandler('guarded')
    @UseGuards({ canActivate: () => tenants.getStore() === '4' })
    async guarded(_: unknown, { db }: TaskContext): Promise<string> {
      await db.query('select 1');
      return `guarded for ${tenants.getStore()}`;
    }
    @TaskHandler('failing', { maxAttempts: 1 })
    failing(): void {
      throw new Error('of the handler');
    }
  }
  const { queue } = await bench.start({
    handlers: [Handlers],
    wrapHandler: (next, { task }) =>
      tenants.run(task.tenant, () =>
        next().finally(() => {
          ends.push(task.topic);
        }),
      ),
  });
  const run = async (topic: string) => bench.ended(await queue.insertTask({ topic, tenant: 4 }));
  expect(await run('plain')).toMatchObject({ mensagem: 'plain for 4' });
  expect(await run('guarded')).toMatchObject({ mensagem: 'guarded for 4' });
  expect(await run('failing')).toMatchObject({
    mensagem: expect.stringContaining('of the handler') as unknown,
  });
  expect(ends).toEqual(['plain', 'guarded', 'failing']);
});

test('nestjs-cls gives each task a context of its own', async () => {
  @Injectable()
  class Handlers {
    constructor(private readonly cls: ClsService) {}
    @TaskHandler('cls')
    async handle(payload: { n: number }): Promise<string> {
      this.cls.set('n', payload.n);
      await new Promise((resolve) => setImmediate(resolve));
      return `${this.cls.get<number>('n')} ${this.cls.getId()}`;
    }
  }
  const { queue } = await bench.start({
    handlers: [Handlers],
    imports: [ClsModule.forRoot({ global: true })],
    wrapHandler: (next, { task }) =>
      ClsServiceManager.getClsService().run(async () => {
        ClsServiceManager.getClsService().set(CLS_ID, task.key);
        return next();
      }),
  });
  const ids = await queue.insertTasks([1, 2, 3].map((n) => ({ topic: 'cls', payload: { n } })));
  const messages = await Promise.all(ids.map(async (id) => String((await bench.ended(id)).mensagem)));
  expect(messages.map((message) => message.split(' ')[0])).toEqual(['1', '2', '3']);
  expect(new Set(messages.map((message) => message.split(' ')[1])).size).toBe(3);
});

test('a handler may answer with an observable, whose last value counts', async () => {
  @Injectable()
  class Handlers {
    @TaskHandler('values')
    values() {
      return of('first', 'last');
    }
    @TaskHandler('none')
    none() {
      return of();
    }
    @TaskHandler('error', { maxAttempts: 1 })
    error() {
      return throwError(() => new Error('of the stream'));
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const run = async (topic: string) => bench.ended(await queue.insertTask({ topic }));
  expect(await run('values')).toMatchObject({ mensagem: 'last' });
  expect(await run('none')).toMatchObject({ mensagem: 'completed' });
  expect(await run('error')).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('of the stream') as unknown,
  });
});
