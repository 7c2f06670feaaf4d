/** How files of the application import each other. */
export interface ExampleStyle {
  /** Behind the name of an imported file: `.js` in ES modules. */
  readonly suffix: '.js' | '';
  readonly queue: string;
  /** Undefined for an application that has none that is known: it gets no test. */
  readonly runner: 'vitest' | 'jest' | undefined;
}

/** Folder of the example, in the application's sources. */
export const exampleFolder = 'order-placed';

/** A publication, its handler, the module that holds them, and a test, by the names of their files. */
export function exampleFiles(style: ExampleStyle): Readonly<Record<string, string>> {
  const { suffix, runner } = style;
  const test = runner === 'vitest' ? 'order-placed.spec.ts' : 'order-placed.queue-spec.ts';
  return {
    'order-placed.publisher.ts': publisher,
    'order-confirmation.subscriber.ts': subscriber(suffix),
    'order-placed.module.ts': module(suffix),
    ...(runner === undefined ? {} : { [test]: spec(style) }),
  };
}

const publisher = `import { Injectable } from '@nestjs/common';
import { QueueClient, type SqlHandle } from 'nestjs-tarefa';

/** What the subscribers of 'order-placed' are told. */
export interface OrderPlaced {
  id: number;
  customer: string;
}

@Injectable()
export class OrderPlacedPublisher {
  constructor(private readonly queue: QueueClient) {}

  /**
   * Hand over the transaction that saves the order: a pg client after BEGIN, \`fromTypeOrm(manager)\`,
   * \`fromPrisma(transaction)\` … The publication then exists exactly when that transaction commits.
   */
  publish(order: OrderPlaced, tx?: SqlHandle): Promise<string> {
    const publication = { topic: 'order-placed', payload: order };
    return this.queue.insertTaskPubSub(publication, tx ? { tx } : {});
  }
}
`;

function subscriber(suffix: string): string {
  return `import { Injectable } from '@nestjs/common';
import { Subscriber, type TaskContext } from 'nestjs-tarefa';
import type { OrderPlaced } from './order-placed.publisher${suffix}';

@Injectable()
export class OrderConfirmation {
  /**
   * Runs for each publication of 'order-placed', again after a failure. What it writes through \`db.query()\` commits
   * together with its success; other systems recognise a repeat by \`task.key\`.
   */
  @Subscriber('order-confirmation', { topic: 'order-placed' })
  confirm(order: OrderPlaced, { task }: TaskContext): string {
    return \`order \${order.id} of \${order.customer} is confirmed, at attempt \${task.attempt}\`;
  }
}
`;
}

function module(suffix: string): string {
  return `import { Module } from '@nestjs/common';
import { OrderConfirmation } from './order-confirmation.subscriber${suffix}';
import { OrderPlacedPublisher } from './order-placed.publisher${suffix}';

@Module({
  providers: [OrderConfirmation, OrderPlacedPublisher],
  exports: [OrderPlacedPublisher],
})
export class OrderPlacedModule {}
`;
}

function spec({ suffix, queue, runner }: ExampleStyle): string {
  const functions = runner === 'vitest' ? "import { describe, expect, it } from 'vitest';\n" : '';
  return `import { Test } from '@nestjs/testing';
import { QueueModule } from 'nestjs-tarefa';
import { QueueTester, withoutDatabase } from 'nestjs-tarefa/testing';
${functions}import { OrderConfirmation } from './order-confirmation.subscriber${suffix}';
import { OrderPlacedPublisher } from './order-placed.publisher${suffix}';

const queue = '${queue}';

describe('order-placed', () => {
  it('is published and confirmed', async () => {
    const builder = Test.createTestingModule({
      imports: [
        QueueModule.forRoot({ connection: 'postgres://nowhere/app', queue }),
      ],
      providers: [OrderConfirmation, OrderPlacedPublisher],
    });
    // What is inserted is recorded, and one handler runs when the test says so.
    const app = await withoutDatabase(builder).compile();
    await app.init();
    const tester = QueueTester.of(app);

    const payload = { id: 1, customer: 'Ana' };
    await app.get(OrderPlacedPublisher).publish(payload);
    await tester.expectInserted({ topic: 'order-placed', payload });
    const { task } = await tester.deliver('order-confirmation', { payload });

    expect(task.message).toBe('order 1 of Ana is confirmed, at attempt 1');
    await app.close();
  });
});
`;
}
