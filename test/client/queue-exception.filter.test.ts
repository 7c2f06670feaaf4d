import { Body, Controller, Get, Module, Post, type INestApplication, type Type } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { lastValueFrom, type Observable } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { QueueClient, QueueExceptionFilter, QueueModule, TarefaError } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';

@Controller()
class OrdersController {
  constructor(private readonly queue: QueueClient) {}

  @Post('orders')
  place(@Body() payload: unknown): Promise<string> {
    return this.queue.insertTask({ topic: 'order', payload });
  }

  @Post('once')
  once(@Body() { key }: { key: string }): Promise<string> {
    return this.queue.insertTask({ topic: 'once', unique: key });
  }

  @Get('lost')
  lost(): never {
    throw new TarefaError('TASK_LOST', 'it is gone');
  }
}

const database = await useDatabase();

async function open(
  adapter: ExpressAdapter | FastifyAdapter,
  isProvided: boolean,
): Promise<INestApplication> {
  @Module({
    controllers: [OrdersController],
    providers: isProvided ? [{ provide: APP_FILTER, useClass: QueueExceptionFilter as Type }] : [],
    imports: [
      QueueModule.forRoot({
        connection: database.url,
        queue: 'tasks',
        worker: false,
        maxPayloadBytes: 100,
        schemas: { order: z.object({ id: z.number() }) },
      }),
    ],
  })
  class AppModule {}
  const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false });
  if (!isProvided) app.useGlobalFilters(new QueueExceptionFilter());
  await app.listen(0, '127.0.0.1');
  return app;
}

describe.each([
  ['Express', () => new ExpressAdapter(), true],
  ['Fastify', () => new FastifyAdapter(), false],
] as const)('on %s', (_, adapter, isProvided) => {
  test('what the queue refuses is answered with 400, 409 or 413, and nothing else changes', async () => {
    const app = await open(adapter(), isProvided);
    try {
      const url = await app.getUrl();
      const ask = async (path: string, body?: unknown): Promise<unknown> => {
        const response = await fetch(`${url}/${path}`, {
          ...(body !== undefined && {
            method: 'POST',
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json' },
          }),
        });
        return [response.status, body === undefined || !response.ok ? await response.json() : 'inserted'];
      };
      expect(await ask('orders', { id: 1 })).toEqual([201, 'inserted']);
      expect(await ask('orders', { id: 'x' })).toEqual([
        400,
        {
          statusCode: 400,
          code: 'PAYLOAD_INVALID',
          message: expect.stringMatching(/^the payload is invalid: id: /) as unknown,
        },
      ]);
      expect(await ask('orders', { id: 1, note: 'x'.repeat(100) })).toEqual([
        413,
        { statusCode: 413, code: 'PAYLOAD_TOO_LARGE', message: expect.any(String) as unknown },
      ]);
      const key = isProvided ? 'a' : 'b';
      expect(await ask('once', { key })).toEqual([201, 'inserted']);
      expect(await ask('once', { key })).toEqual([
        409,
        {
          statusCode: 409,
          code: 'TASK_DUPLICATE',
          message: expect.stringMatching(/^task \d+ has the unique key "[ab]"/) as unknown,
        },
      ]);
      expect(await ask('lost')).toEqual([500, { statusCode: 500, message: 'Internal server error' }]);
    } finally {
      await app.close();
    }
  });
});

test('message handlers answer in their own way, and what is neither gets the error', async () => {
  const filter = new QueueExceptionFilter();
  const error = new TarefaError('PAYLOAD_INVALID', 'the payload is invalid');
  const said = { status: 'error', code: 'PAYLOAD_INVALID', message: 'the payload is invalid' };
  const emitted: unknown[] = [];
  const hostOf = (type: string): ExecutionContextHost => {
    const host = new ExecutionContextHost([{ emit: (...all: unknown[]) => emitted.push(all) }, {}]);
    host.setType(type);
    return host;
  };
  await expect(lastValueFrom(filter.catch(error, hostOf('rpc')) as Observable<unknown>)).rejects.toEqual(
    said,
  );
  filter.catch(error, hostOf('ws'));
  expect(emitted).toEqual([['exception', said]]);
  // A filter that returned would make a success of a task's failure.
  for (const type of ['queue', 'graphql']) expect(() => filter.catch(error, hostOf(type))).toThrow(error);
});
