import { Inject, Injectable, Scope, type Provider } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { expect, test } from 'vitest';
import { OnQueueEvent, Subscriber, SubscriberWebhook, TaskHandler } from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

/** What the start of an application with these providers warns of, as far as it is about decorators. */
async function warningsOf(...handlers: Provider[]): Promise<readonly string[]> {
  const logger = new LogLines();
  await bench.start({ handlers, logger, autoStart: false, webhooks: true });
  return logger.of('warn').filter((line) => /has no effect|is never called/.test(line));
}

/** A decorator that puts another function in the place of a method, and copies nothing. */
function Measure(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const { value } = descriptor as unknown as { value: (...args: unknown[]) => unknown };
    Object.assign(descriptor, {
      value(this: unknown, ...args: unknown[]) {
        return Reflect.apply(value, this, args);
      },
    });
  };
}

/** One that copies the metadata, as those of Nest's friends do. */
function Traced(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const before = descriptor.value as object;
    Measure()(_target, _name, descriptor);
    for (const key of Reflect.getMetadataKeys(before)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, before), descriptor.value as object);
    }
  };
}

/** One that puts a getter in its place. */
function Bound(): MethodDecorator {
  return (_target, _name, { value }) => ({ configurable: true, get: () => value as never });
}

test('decorators that another one above them has dropped are named at start', async () => {
  class Measured {
    @Measure()
    @TaskHandler('measured')
    task(): void {}
    @Measure()
    @Subscriber('measured', { topic: 'placed' })
    delivery(): void {}
    @Measure()
    @OnQueueEvent('task.failed')
    listener(): void {}
    @Bound()
    @TaskHandler('bound')
    bound(): void {}
    @TaskHandler('kept')
    @Measure()
    @TaskHandler('lost')
    both(): void {}
  }
  const above = 'has no effect: another decorator replaced the method';
  const todo = '. Put it above that decorator';
  expect(await warningsOf(Measured)).toEqual([
    `@TaskHandler('measured') on Measured.task ${above}${todo}`,
    `@Subscriber('measured') on Measured.delivery ${above}${todo}`,
    `@OnQueueEvent('task.failed') on Measured.listener ${above}${todo}`,
    `@TaskHandler('bound') on Measured.bound ${above}${todo}`,
    `@TaskHandler('lost') on Measured.both ${above}${todo}`,
  ]);
});

test('a method that overrides a handler without a decorator is named at start, once', async () => {
  abstract class Base {
    @TaskHandler('overridden')
    run(): void {}
    @OnQueueEvent('task.failed')
    heard(): void {}
  }
  @Injectable()
  class Derived extends Base {
    override run(): void {}
    override heard(): void {}
  }
  class Further extends Derived {}
  const todo = 'overrides it without a decorator. Decorate that method too';
  expect(await warningsOf(Derived, Further)).toEqual([
    `@TaskHandler('overridden') on Base.run has no effect: Derived.run ${todo}`,
    `@OnQueueEvent('task.failed') on Base.heard has no effect: Derived.heard ${todo}`,
  ]);
});

test('nothing is said of what works: metadata that were copied, overrides that are decorated, inherited methods', async () => {
  class Base {
    @TaskHandler('base')
    run(): void {}
    @TaskHandler('inherited')
    inherited(): void {}
  }
  class Derived extends Base {
    @TaskHandler('derived')
    override run(): void {}
    @Traced()
    @TaskHandler('traced')
    traced(): void {}
    @TaskHandler('above')
    @Measure()
    above(): void {}
    @OnQueueEvent('task.failed')
    heard(): void {}
  }
  class Unprovided {
    @Measure()
    @TaskHandler('unprovided')
    run(): void {}
  }
  void Unprovided;
  expect(await warningsOf(Derived)).toEqual([]);
});

test('a class that was put in the place of a declared webhook is named', async () => {
  const Replace =
    () =>
    <Type extends new (...args: never[]) => object>(type: Type): Type => {
      const parent = type as unknown as new () => object;
      return class Replacement extends parent {} as unknown as Type;
    };
  @Replace()
  @SubscriberWebhook('crm')
  class Marker {}
  @SubscriberWebhook('erp')
  @Replace()
  class Other {}
  expect(await warningsOf(Marker, Other)).toEqual([
    `@SubscriberWebhook('crm') on Marker has no effect: the provided class, Replacement, does not have it. ` +
      `Put it on that class, or above the decorator that created the class`,
  ]);
});

test('listeners without an instance are named at start', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class PerTask {
    constructor(@Inject(REQUEST) readonly request: unknown) {}
    @OnQueueEvent('task.completed')
    completed(): void {}
  }
  @Injectable()
  class Depending {
    constructor(readonly perTask: PerTask) {}
    @OnQueueEvent('task.failed')
    failed(): void {}
  }
  @Injectable({ scope: Scope.TRANSIENT })
  class Transient {
    @OnQueueEvent('task.buried')
    buried(): void {}
  }
  const why =
    'is never called: its class is request-scoped or transient, or depends on one that is, so there is no instance to call. ' +
    'Move the method to a provider with the default scope';
  expect(await warningsOf(PerTask, Depending, Transient)).toEqual([
    `@OnQueueEvent('task.completed') on PerTask.completed ${why}`,
    `@OnQueueEvent('task.failed') on Depending.failed ${why}`,
    `@OnQueueEvent('task.buried') on Transient.buried ${why}`,
  ]);
});

test('a listener that Nest would never find is refused where it stands', () => {
  expect(() => {
    class Static {
      @OnQueueEvent('task.failed')
      static failed(): void {}
      neither = true;
    }
    return Static;
  }).toThrow(/@OnQueueEvent on Static\.failed cannot work: a static method has no instance/);
});
