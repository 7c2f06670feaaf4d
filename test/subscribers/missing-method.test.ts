import { Injectable, Module, Scope, UseGuards } from '@nestjs/common';
import { expect, test } from 'vitest';
import { OnQueueEvent, TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

test('request-scoped providers of one token in two modules are each their own', async () => {
  const ran: unknown[] = [];
  class A {
    @TaskHandler('a')
    run(payload: unknown): void {
      ran.push(['A', payload]);
    }
  }
  class B {
    @TaskHandler('b')
    run(payload: unknown): void {
      ran.push(['B', payload]);
    }
    @TaskHandler('c')
    onlyHere(payload: unknown): void {
      ran.push(['only B', payload]);
    }
  }
  @Module({ providers: [{ provide: 'TASKS', useClass: A, scope: Scope.REQUEST }] })
  class ModuleA {}
  @Module({ providers: [{ provide: 'TASKS', useClass: B, scope: Scope.REQUEST }] })
  class ModuleB {}
  for (const modules of [
    [ModuleA, ModuleB],
    [ModuleB, ModuleA],
  ]) {
    const { queue, close } = await bench.start({ imports: modules.map((module) => ({ module })) });
    for (const topic of ['a', 'b', 'c']) {
      const ended = await bench.ended(await queue.insertTask({ topic, payload: topic }));
      expect(ended).toMatchObject({ status: 'sucesso' });
    }
    await close();
    expect(ran.splice(0)).toEqual([
      ['A', 'a'],
      ['B', 'b'],
      ['only B', 'c'],
    ]);
  }
});

/** Removes a method from an instance, as some constructors and mocks do. */
function remove(instance: object, method: string): void {
  Object.defineProperty(instance, method, { value: undefined });
}

test('a method that is gone when its task comes fails the attempt by name, however it is called', async () => {
  @Injectable()
  class Plain {
    constructor() {
      remove(this, 'run');
    }
    @TaskHandler('plain')
    run(): void {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class Scoped extends Plain {
    @TaskHandler('scoped')
    override run(): void {}
  }
  @Injectable()
  @UseGuards({ canActivate: () => true })
  class Guarded extends Plain {
    @TaskHandler('guarded')
    override run(): void {}
  }
  @Injectable({ scope: Scope.REQUEST })
  @UseGuards({ canActivate: () => true })
  class Both extends Plain {
    @TaskHandler('both')
    override run(): void {}
  }
  const { queue } = await bench.start({ handlers: [Plain, Scoped, Guarded, Both], maxAttempts: 1 });
  for (const { name } of [Plain, Scoped, Guarded, Both]) {
    const ended = await bench.ended(await queue.insertTask({ topic: name.toLowerCase() }));
    expect(ended).toMatchObject({ status: 'falha', tentativa: 1 });
    expect(ended.mensagem).toBe(
      `${name}.run was not run: the object that its module provides no longer has this method (it is undefined) ` +
        `(no attempts left)`,
    );
  }
});

test('guards of a method hold for whatever an instance has in its place', async () => {
  const ran: string[] = [];
  @Injectable()
  class Replaced {
    constructor() {
      Object.defineProperty(this, 'run', { value: () => ran.push('unguarded') });
    }
    @TaskHandler('replaced')
    @UseGuards({ canActivate: () => false })
    run(): void {}
  }
  const { queue } = await bench.start({ handlers: [Replaced], maxAttempts: 1 });
  const ended = await bench.ended(await queue.insertTask({ topic: 'replaced' }));
  expect(ended).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('Forbidden') as unknown });
  expect(ran).toEqual([]);
});

test('a listener whose method is gone is a warning', async () => {
  class Listeners {
    constructor() {
      remove(this, 'completed');
    }
    @TaskHandler('heard')
    handle(): void {}
    @OnQueueEvent('task.completed')
    completed(): void {}
  }
  const { queue, events } = await bench.start({ handlers: [Listeners] });
  const warned = nextEvent(events, 'warning');
  await queue.insertTask({ topic: 'heard' });
  expect((await warned).message).toMatch(
    /^Listeners\.completed failed on 'task\.completed': .*no longer has this method \(it is undefined\)/,
  );
});
