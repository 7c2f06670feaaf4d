import { Injectable, UsePipes, ValidationPipe } from '@nestjs/common';
import { IsInt, IsString, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DeadSubscriber, Subscriber, TaskHandler } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

const order = z.object({
  id: z.coerce.number().int(),
  placedAt: z.iso.datetime(),
  lines: z.array(z.object({ sku: z.string() })).default([]),
});
const valid = { id: '7', placedAt: new Date(0) };

@Injectable()
class Orders {
  @TaskHandler('order', { schema: order, retryDelayMs: 0 })
  handle(payload: z.infer<typeof order>): object {
    return payload;
  }
}

test('a handler gets what its schema makes of the payload', async () => {
  const { queue } = await bench.start({ handlers: [Orders] });
  const { resultado } = await bench.ended(await queue.insertTask({ topic: 'order', payload: valid }));
  expect(JSON.parse(String(resultado))).toEqual({ id: 7, placedAt: '1970-01-01T00:00:00.000Z', lines: [] });
});

test('a payload that does not match is refused at insert, and nothing is stored', async () => {
  const { queue } = await bench.start({ handlers: [Orders] });
  const invalid = { ...valid, lines: [{ sku: 'a' }, { sku: 4 }] };
  await expect(queue.insertTask({ topic: 'order', payload: invalid })).rejects.toMatchObject({
    code: 'PAYLOAD_INVALID',
    message: expect.stringContaining('lines.1.sku: ') as unknown,
  });
  await expect(
    queue.insertTasks([
      { topic: 'order', payload: valid },
      { topic: 'order', payload: {} },
    ]),
  ).rejects.toMatchObject({
    code: 'PAYLOAD_INVALID',
    message: expect.stringMatching(/^task 1 of the batch: .*id: .*; placedAt: /) as unknown,
  });
  expect((await bench.pool.query('select from tasks')).rowCount).toBe(0);
});

test('a stored payload that does not match fails its task at once, saying which field', async () => {
  await bench.start({ handlers: [Orders] });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload) values ('order', '{"id": "seven"}') returning id`,
  );
  expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({
    status: 'falha',
    reenfileirado: false,
    estouro_tentativas: true,
    mensagem: expect.stringMatching(/the payload is invalid: id: .*; placedAt: /) as unknown,
  });
});

test('schemas by topic hold for publications, deliveries and inserts, but not for dead handlers', async () => {
  const dead: unknown[] = [];
  @Injectable()
  class Deliveries {
    @Subscriber('index')
    handle(payload: { id: unknown }): string {
      return typeof payload.id;
    }
    @DeadSubscriber('index')
    gaveUp(payload: unknown): void {
      dead.push(payload);
    }
  }
  const { queue } = await bench.start({ handlers: [Deliveries], schemas: { placed: order } });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('index', 'placed')`);
  await expect(queue.insertTaskPubSub({ topic: 'placed', payload: {} })).rejects.toMatchObject({
    code: 'PAYLOAD_INVALID',
  });
  const deliveryOf = async (publication: string) => {
    await bench.ended(publication);
    const { rows } = await bench.pool.query<{ id: string }>(
      'select id from tasks where publication_id = $1 and not dead',
      [publication],
    );
    return bench.ended(rows[0]?.id ?? '');
  };
  expect(await deliveryOf(await queue.insertTaskPubSub({ topic: 'placed', payload: valid }))).toMatchObject({
    mensagem: 'number',
  });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, pub_sub) values ('placed', '{"broken": true}', true) returning id`,
  );
  const failed = await deliveryOf(rows[0]?.id ?? '');
  expect(failed).toMatchObject({ status: 'falha', reenfileirado: false });
  await bench.endedChain(failed.id, 2);
  expect(dead).toEqual([{ broken: true }]);
});

test('an insert without payload is checked as null, and a schema may be asynchronous', async () => {
  const seen: unknown[] = [];
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value: unknown) => {
        seen.push(await Promise.resolve(value));
        return value === null ? { issues: [{ message: 'is missing' }] } : { value: 'made of it' };
      },
    },
  } as const;
  const { queue } = await bench.start({ handlers: [Any], schemas: { any: schema } });
  await expect(queue.insertTask({ topic: 'any' })).rejects.toThrow('the payload is invalid: is missing');
  expect(await bench.ended(await queue.insertTask({ topic: 'any', payload: [1] }))).toMatchObject({
    mensagem: 'made of it',
  });
  expect(seen).toEqual([null, [1], [1]]);
});

@Injectable()
class Any {
  @TaskHandler('any')
  handle(payload: string): string {
    return payload;
  }
}

class Line {
  @IsString()
  sku!: string;
}

class OrderDto {
  @IsInt()
  id!: number;
  @ValidateNested()
  @Type(() => Line)
  line!: Line;
}

test('ValidationPipe checks a class and makes an instance of it', async () => {
  @Injectable()
  class Validated {
    @TaskHandler('dto', { retryDelayMs: 0 })
    @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
    handle(payload: OrderDto): string {
      return `${payload instanceof OrderDto} ${payload.line instanceof Line} ${Object.keys(payload).join()}`;
    }
  }
  const { queue } = await bench.start({ handlers: [Validated] });
  const payload = { id: 1, line: { sku: 'a' }, more: true };
  expect(await bench.ended(await queue.insertTask({ topic: 'dto', payload }))).toMatchObject({
    mensagem: 'true true id,line',
  });
  const broken = await queue.insertTask({ topic: 'dto', payload: { id: 'x', line: { sku: 4 } } });
  expect(await bench.ended(broken)).toMatchObject({
    status: 'falha',
    reenfileirado: false,
    mensagem: expect.stringContaining('id must be an integer number; line.sku must be a string') as unknown,
  });
});

test.each([
  [{ schemas: { order: {} } }, /schemas: the schema of "order" does not implement Standard Schema/],
  [{ schemas: [order] }, /schemas must be an object/],
  [{ wrapHandler: 'x' }, /wrapHandler must be a function/],
  [{ transaction: {} }, /transaction must be a function/],
  [{ globalEnhancers: ['guard'] }, /globalEnhancers must be true, false or a list of guards, interceptors/],
])('%j is refused', async (options, message) => {
  await expect(bench.start(options as object)).rejects.toThrow(message);
});
