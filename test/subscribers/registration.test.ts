import { Controller, Injectable, Module, type Provider } from '@nestjs/common';
import { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import {
  DeadSubscriber,
  DeadTaskHandler,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { declareSubscriptions } from '../../lib/storage/postgres/declare-subscriptions.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

/** Starts an application that must refuse to; returns the error's text. */
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

test('an id declared twice is refused at start, naming both methods', async () => {
  class Second {
    @Subscriber('index')
    again(): void {}
  }
  expect(await refusal(First, Second)).toMatch(
    /@Subscriber\('index'\) is declared twice: First\.index and Second\.again/,
  );
});

test('so is a second dead subscriber, task handler or dead task handler', async () => {
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

test('so are two handlers without topic, and two in one class', async () => {
  class Any {
    @TaskHandler()
    one(): void {}
    @TaskHandler({ concurrency: 2 })
    two(): void {}
  }
  expect(await refusal(Any)).toMatch(/@TaskHandler\(\) is declared twice: Any\.one and Any\.two/);
});

test('a class that is provided twice says so', async () => {
  const message = await refusal(First, { provide: 'other token', useClass: First });
  expect(message).toContain('First.index and First.index');
  expect(message).toContain('its class is provided twice');
});

test('two classes of one name are not taken for one that is provided twice', async () => {
  const makeService = () => {
    class Service {
      @TaskHandler('of a service')
      run(): void {}
    }
    return Service;
  };
  const message = await refusal(makeService(), makeService());
  expect(message).toContain('declared twice: Service.run and Service.run');
  expect(message).toContain('a queue can have only one handler for an id');
});

test('two subclasses that inherit a handler are two handlers', async () => {
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
  // As BullMQ has it; without types, the compiler does not say it.
  const decorator = TaskHandler('class') as (target: object) => void;
  class Processor {
    isOurs = true;
  }
  expect(() => decorator(Processor)).toThrow(
    "@TaskHandler on Processor cannot work: it is a class. Put it on a method of a provider's class",
  );
});

test.each([
  ['attempts', 'maxAttempts'],
  ['backoff', 'retryDelayMs'],
  ['timeout', 'timeoutMs'],
])('BullMQ’s word %s in the options of a handler gets the word that is meant', async (word, meant) => {
  class Moved {
    @TaskHandler('moved', { [word]: 5 } as never)
    run(): void {}
  }
  await expect(bench.start({ handlers: [Moved] })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(
      new RegExp(`Moved\\.run[^]*unknown option '${word}': did you mean '${meant}'\\?`),
    ),
  });
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

testOnPostgres('a start that is refused leaves no connection', async () => {
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

class Declared {
  @Subscriber('declared', { topic: 'placed' })
  declared(): void {}
}

const rows = async (): Promise<unknown[]> =>
  (await bench.pool.query('select id, processo, ativo from tasks_subscriber order by id')).rows;

test('a subscription that says its topic gets its row at start, also of several processes at once, and again when it was deleted', async () => {
  class Others {
    @Subscriber('a', { topic: 'placed' })
    a(): void {}
    @Subscriber('z', { topic: 'paid' })
    z(): void {}
  }
  const all = [
    { id: 'a', processo: 'placed', ativo: true },
    { id: 'declared', processo: 'placed', ativo: true },
    { id: 'z', processo: 'paid', ativo: true },
  ];
  const options = { schema: 'check', autoStart: false } as const;
  await bench.start({ worker: false });
  await Promise.all([
    bench.start({ ...options, handlers: [Declared, Others] }),
    bench.start({ ...options, handlers: [Others, Declared] }),
    bench.start({ ...options, handlers: [Declared, Others] }),
  ]);
  expect(await rows()).toEqual(all);
  await bench.pool.query(`delete from tasks_subscriber where id = 'a'`);
  await bench.pool.query(`update tasks_subscriber set ativo = false, tenant = 7 where id = 'z'`);
  await bench.start({ handlers: [Declared, Others] });
  expect(await rows()).toEqual([all[0], all[1], { ...all[2], ativo: false }]);
});

test('a row with another topic refuses the start, and stays as it is', async () => {
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('declared', 'cancelled')`);
  expect(await refusal(Declared)).toMatch(
    /@Subscriber\('declared', \{ topic: 'placed' \}\) on Declared\.declared, but the row 'declared' has the topic 'cancelled'/,
  );
  expect(await rows()).toEqual([{ id: 'declared', processo: 'cancelled', ativo: true }]);
});

testOnPostgres(
  'a role that may not make the row is told the grant; where there are no subscriptions that is said',
  async () => {
    await bench.start({ worker: false });
    const role = `reader_${process.pid}`;
    const { database, pool } = bench;
    await pool.query(`create role ${role} login password 'x'`);
    await pool.query(
      `grant all on all tables in schema public to ${role}; grant all on all sequences in schema public to ${role};
     revoke insert on tasks_subscriber from ${role}`,
    );
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'x'];
    const asRole = { handlers: [Declared], connection: url.href, schema: 'check' } as const;
    try {
      await expect(bench.start(asRole)).rejects.toMatchObject({
        code: 'RIGHTS_MISSING',
        message: expect.stringMatching(
          /'declared' \(topic 'placed'\).*`grant select, insert on "public"\."tasks_subscriber" to "reader_\d+";`/,
        ),
      });
      // Nothing has to be made.
      await pool.query(`insert into tasks_subscriber (id, processo) values ('declared', 'placed')`);
      const { close } = await bench.start(asRole);
      await close();
      // Rows that it may not read concern it only when one of them may have to be made.
      await pool.query(`revoke select on tasks_subscriber from ${role}`);
      const client = new Client(url.href);
      await client.connect();
      const declare = (topic?: string) =>
        declareSubscriptions(client, { subscriptions: 'tasks_subscriber' }, [{ id: 'declared', topic }]);
      expect(await declare()).toBeUndefined();
      await expect(declare('placed')).rejects.toMatchObject({ code: 'RIGHTS_MISSING' });
      await client.end();
    } finally {
      await pool.query(`drop owned by ${role}; drop role ${role}`);
    }
    await expect(bench.start({ handlers: [Declared], subscriptionTable: false })).rejects.toMatchObject({
      code: 'SUBSCRIPTIONS_UNAVAILABLE',
    });
  },
);

test.each<[unknown, string]>([
  ['', 'topic must be text of 1 to 250 characters'],
  [7, 'topic must be text of 1 to 250 characters'],
])('the topic %j is refused', async (topic, problem) => {
  class Wrong {
    @Subscriber('wrong', { topic: topic as string })
    wrong(): void {}
  }
  await expect(bench.start({ handlers: [Wrong] })).rejects.toThrow(problem);
});

/** Starts an application; returns its warnings, those included that come a moment after the start. */
async function warningsOf(handlers: readonly Provider[]): Promise<readonly string[]> {
  vi.stubEnv('NODE_ENV', 'development');
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const lines: unknown[] = [];
  const keep = (message: { message?: unknown }) => lines.push(message.message);
  const logger = { log: () => undefined, warn: keep, error: keep } as never;
  const { close } = await bench.start({ handlers, logger });
  for (const [check, ms] of timers.mock.calls) if (ms === 5_000 && check.name === '') check();
  timers.mockRestore();
  vi.unstubAllEnvs();
  // Nest has one logger for all applications of a process.
  await close();
  return lines.map(String);
}

test('every handler without a row is named at start, and none that has one', async () => {
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('index', 'placed')`);
  class Rowless {
    @Subscriber('rowless')
    one(): void {}
    @Subscriber('another')
    two(): void {}
  }
  const about = (await warningsOf([First, Rowless, Declared])).filter((line) =>
    line.startsWith('no subscription has the id of'),
  );
  expect(about).toEqual([
    expect.stringMatching(
      /^no subscription has the id of @Subscriber\('rowless'\) on Rowless\.one, @Subscriber\('another'\) on Rowless\.two, so /,
    ),
  ]);
});

test('forgotten shutdown hooks are told of, unless somebody listens to the signals', async () => {
  const hint = 'Call app.enableShutdownHooks()';
  const others = process.listeners('SIGTERM').length + process.listeners('SIGINT').length;
  expect((await warningsOf([First])).some((line) => line.includes(hint))).toBe(others === 0);
  const listener = (): void => undefined;
  process.on('SIGTERM', listener);
  try {
    expect((await warningsOf([First])).some((line) => line.includes(hint))).toBe(false);
  } finally {
    process.off('SIGTERM', listener);
  }
});

test('a decorated class that no module provides is named, but no base class, and none of another queue', async () => {
  class Forgotten {
    @TaskHandler('forgotten')
    forgotten(): void {}
  }
  class ForAnotherQueue {
    @TaskHandler('forgotten', { queue: 'billing' })
    forgotten(): void {}
  }
  abstract class Parent {
    @TaskHandler('inherited')
    inherited(): void {}
  }
  class Child extends Parent {}
  void ForAnotherQueue;
  const named = async (...handlers: Provider[]): Promise<string> =>
    (await warningsOf(handlers)).find((line) => line.startsWith('no module of this application provides')) ??
    '';
  const first = await named(Child);
  expect(first).toContain('Forgotten');
  expect(first).not.toMatch(/Parent|ForAnotherQueue/);
  // Another application of the process has it.
  expect(await named(Forgotten)).not.toContain('Forgotten');
});
