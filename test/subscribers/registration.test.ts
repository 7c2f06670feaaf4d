import { Controller, Injectable, Module, type Provider } from '@nestjs/common';
import { expect, test } from 'vitest';
import {
  DeadSubscriber,
  DeadTaskHandler,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

/** Starts an application that must refuse to; answers the error's text. */
async function refusal(...handlers: Provider[]): Promise<string> {
  const error: unknown = await bench.start({ handlers }).then(
    () => undefined,
    (refused: unknown) => refused,
  );
  expect(error).toMatchObject({ code: 'HANDLER_INVALID' });
  return (error as Error).message;
}

class First {
  @Subscriber('index')
  index(): void {}
  @DeadSubscriber('dead index')
  deadIndex(): void {}
  @TaskHandler('receipt')
  receipt(): void {}
  @DeadTaskHandler('receipt')
  deadReceipt(): void {}
}

test('scenario 74: an id declared twice is refused at start, naming both methods', async () => {
  class Second {
    @Subscriber('index')
    again(): void {}
  }
  expect(await refusal(First, Second)).toMatch(
    /@Subscriber\('index'\) is declared twice: First\.index and Second\.again/,
  );
});

test('scenario 74: so is a second dead subscriber, task handler or dead task handler', async () => {
  class DeadIndex {
    @DeadSubscriber('dead index')
    again(): void {}
  }
  class Receipt {
    @TaskHandler('receipt')
    again(): void {}
  }
  class DeadReceipt {
    @DeadTaskHandler('receipt')
    again(): void {}
  }
  expect(await refusal(First, DeadIndex)).toContain(`@DeadSubscriber('dead index') is declared twice`);
  expect(await refusal(First, Receipt)).toContain(`@TaskHandler('receipt') is declared twice`);
  expect(await refusal(First, DeadReceipt)).toContain(`@DeadTaskHandler('receipt') is declared twice`);
});

test('scenario 74: so are two handlers without topic, and two in one class', async () => {
  class Any {
    @TaskHandler()
    one(): void {}
    @TaskHandler({ concurrency: 2 })
    two(): void {}
  }
  expect(await refusal(Any)).toMatch(/@TaskHandler\(\) is declared twice: Any\.one and Any\.two/);
});

test('scenario 74: a class that is provided twice says so', async () => {
  const message = await refusal(First, { provide: 'other token', useClass: First });
  expect(message).toContain('First.index and First.index');
  expect(message).toContain('its class is provided twice');
});

test('scenario 74: two subclasses that inherit a handler are two handlers', async () => {
  abstract class Base {
    @TaskHandler('inherited')
    run(): void {}
  }
  class One extends Base {}
  class Two extends Base {}
  expect(await refusal(One, Two)).toMatch(/One\.run and Two\.run/);
});

test('a subscription and a topic of the same name, live and dead, are four different ids', async () => {
  const ran: string[] = [];
  class Same {
    @Subscriber('same')
    subscriber(): void {
      ran.push('subscriber');
    }
    @DeadSubscriber('same')
    deadSubscriber(): void {}
    @TaskHandler('same')
    task(): void {
      ran.push('task');
    }
    @DeadTaskHandler('same')
    deadTask(): void {}
  }
  const { queue } = await bench.start({ handlers: [Same] });
  await bench.ended(await queue.insertTask({ topic: 'same' }));
  expect(ran).toEqual(['task']);
});

test('a provider behind an alias is one set of handlers', async () => {
  let runs = 0;
  @Injectable()
  class Aliased {
    @TaskHandler('aliased')
    run(): void {
      runs += 1;
    }
  }
  const { queue } = await bench.start({ handlers: [Aliased, { provide: 'alias', useExisting: Aliased }] });
  await bench.ended(await queue.insertTask({ topic: 'aliased' }));
  expect(runs).toBe(1);
});

test('an inherited method handles, an overriding one takes its place', async () => {
  const ran: string[] = [];
  class Base {
    @TaskHandler('inherited')
    inherited(): void {
      ran.push(`inherited in ${this.constructor.name}`);
    }
    @TaskHandler('overridden')
    overridden(): void {
      ran.push('base');
    }
  }
  class Derived extends Base {
    @TaskHandler('overridden')
    override overridden(): void {
      ran.push('derived');
    }
  }
  const { queue } = await bench.start({ handlers: [Derived] });
  for (const topic of ['inherited', 'overridden']) await bench.ended(await queue.insertTask({ topic }));
  expect(ran).toEqual(['inherited in Derived', 'derived']);
});

test('one method may handle several ids', async () => {
  const ran: unknown[] = [];
  class Several {
    @TaskHandler('a')
    @TaskHandler('b', { payload: 'text' })
    @DeadTaskHandler('a')
    run(payload: unknown, { task }: TaskContext): void {
      ran.push([task.topic, task.dead, payload]);
      if (task.topic === 'a' && !task.dead) throw new Error('once more, dead');
    }
  }
  const { queue } = await bench.start({ handlers: [Several], maxAttempts: 1 });
  await bench.endedChain(await queue.insertTask({ topic: 'a', payload: [1] }), 2);
  await bench.ended(await queue.insertTask({ topic: 'b', payload: [1] }));
  expect(ran).toEqual([
    ['a', false, [1]],
    ['a', true, [1]],
    ['b', false, '[1]'],
  ]);
});

test('handlers may stand on controllers, factories and values', async () => {
  const ran: unknown[] = [];
  @Controller('orders')
  class OrdersController {
    @TaskHandler('controller')
    run(): void {
      ran.push('controller');
    }
  }
  @Module({ controllers: [OrdersController] })
  class OrdersModule {}
  class Made {
    constructor(readonly name: string) {}
    @TaskHandler('made')
    run(): void {
      ran.push(this.name);
    }
  }
  class Given extends Made {
    @TaskHandler('given')
    override run(): void {
      ran.push(`given ${this.name}`);
    }
  }
  const { queue } = await bench.start({
    imports: [{ module: OrdersModule }],
    handlers: [
      { provide: 'made', useFactory: () => new Made('by a factory') },
      { provide: 'given', useValue: new Given('as a value') },
      { provide: 'nothing', useValue: null },
      { provide: 'plain', useValue: { run: () => undefined } },
    ],
  });
  for (const topic of ['controller', 'made', 'given']) await bench.ended(await queue.insertTask({ topic }));
  expect(ran).toEqual(['controller', 'by a factory', 'given as a value']);
});

test('a decorator where no task can reach the method is refused where it stands', () => {
  expect(() => {
    class Static {
      @TaskHandler('static')
      static run(): void {}
      neither = true;
    }
    return Static;
  }).toThrow(/@TaskHandler on Static\.run cannot work: a static method has no instance/);
  expect(() => {
    class Symbolic {
      @Subscriber('symbol')
      [Symbol.for('run')](): void {}
    }
    return Symbolic;
  }).toThrow(/on Symbolic\.Symbol\(run\) cannot work/);
});

test.each([undefined, null, '', 'x'.repeat(101), 7])(
  'a subscriber without a proper id is refused at start: %s',
  async (id) => {
    class Forgetful {
      @Subscriber(id as string)
      run(): void {}
    }
    await expect(bench.start({ handlers: [Forgetful] })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringMatching(/Forgetful\.run[^]*must be text of 1 to 100 characters/),
    });
  },
);

test('a start that is refused leaves no connection', async () => {
  await refusal(First, { provide: 'other token', useClass: First });
  // The server takes note of the end of a connection in its own time; idle ones end after 10 s by themselves.
  const ask = async (): Promise<boolean> => {
    const { rows } = await bench.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name like 'tarefa%'`,
    );
    return rows.length === 0;
  };
  expect(await until(ask, 'the end of all connections', 5_000)).toBe(true);
});
