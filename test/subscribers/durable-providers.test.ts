import {
  Inject,
  Injectable,
  Scope,
  UseGuards,
  forwardRef,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ContextIdFactory, REQUEST, type ContextId, type ContextIdStrategy } from '@nestjs/core';
import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const tenants = ['1', '2'];

afterEach(() => ContextIdFactory.apply(undefined as unknown as ContextIdStrategy));

/** As the documents of Nest have it, with a task's tenant in place of a request's header. */
class ByTenant implements ContextIdStrategy<TaskContext> {
  readonly #subTrees = new Map<string, ContextId>();

  attach(contextId: ContextId, { task }: TaskContext) {
    const tenant = String(task.tenant);
    const subTree = this.#subTrees.get(tenant) ?? { id: Number(tenant) };
    this.#subTrees.set(tenant, subTree);
    return {
      resolve: ({ isTreeDurable }: { readonly isTreeDurable: boolean }) =>
        isTreeDurable ? subTree : contextId,
      payload: { tenantId: tenant, task: 'stays the task' },
    };
  }
}

let made: string[] = [];
afterEach(() => {
  made = [];
});

@Injectable({ scope: Scope.REQUEST, durable: true })
class TenantPool {
  readonly tenant: string;
  constructor(@Inject(REQUEST) { tenantId }: { readonly tenantId: string }) {
    this.tenant = tenantId;
    made.push(tenantId);
  }
}

/** Runs ten tasks of two tenants. */
async function runTen(handlers: readonly object[]): Promise<void> {
  const { queue } = await bench.start({ handlers: handlers as never });
  const inputs = Array.from({ length: 10 }, (_, index) => ({ topic: 'durable', tenant: (index % 2) + 1 }));
  for (const id of await queue.insertTasks(inputs)) {
    expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  }
}

test('tasks of one tenant share what is durable, and each is run with its own context', async () => {
  ContextIdFactory.apply(new ByTenant());
  const instances = new Set<object>();
  const seen: boolean[] = [];
  @Injectable()
  class Handlers {
    constructor(private readonly pool: TenantPool) {}
    @TaskHandler('durable')
    run(_: unknown, { task }: TaskContext): void {
      instances.add(this);
      seen.push(this.pool.tenant === String(task.tenant));
    }
  }
  await runTen([Handlers, TenantPool]);
  expect(made.toSorted()).toEqual(tenants);
  expect(instances.size).toBe(2);
  expect(seen).toEqual(Array(10).fill(true));
});

test('a handler that is request-scoped itself is made again, with what is durable in it shared', async () => {
  ContextIdFactory.apply(new ByTenant());
  const instances = new Set<object>();
  const seen: unknown[] = [];
  @Injectable({ scope: Scope.REQUEST })
  class Handlers {
    constructor(
      private readonly pool: TenantPool,
      @Inject(REQUEST) private readonly context: TaskContext & { readonly tenantId?: string },
    ) {}
    @TaskHandler('durable')
    run(_: unknown, ctx: TaskContext): void {
      instances.add(this);
      const tenant = String(this.context.task.tenant);
      seen.push([this.context === ctx, this.pool.tenant === tenant, this.context.tenantId === tenant]);
    }
  }
  await runTen([Handlers, TenantPool]);
  expect(made.toSorted()).toEqual(tenants);
  expect(instances.size).toBe(10);
  expect(seen).toEqual(Array(10).fill([true, true, true]));
});

let own: boolean[] = [];
const note = ({ tenant }: Pick<TenantPool, 'tenant'>, { task }: TaskContext): void =>
  void own.push(tenant === String(task.tenant));

@Injectable({ scope: Scope.REQUEST })
class ByProperty {
  @Inject(TenantPool)
  readonly pool!: TenantPool;
  @TaskHandler('durable')
  run(_: unknown, ctx: TaskContext): void {
    note(this.pool, ctx);
  }
}

@Injectable({ scope: Scope.REQUEST })
class ByForwardRef {
  constructor(@Inject(forwardRef(() => TenantPool)) readonly pool: Pick<TenantPool, 'tenant'>) {}
  @TaskHandler('durable')
  run(_: unknown, ctx: TaskContext): void {
    note(this.pool, ctx);
  }
}

@Injectable({ scope: Scope.REQUEST })
class Stock {
  constructor(readonly pool: TenantPool) {}
}

@Injectable({ scope: Scope.REQUEST })
class ThroughAnother {
  constructor(readonly stock: Stock) {}
  @TaskHandler('durable')
  run(_: unknown, ctx: TaskContext): void {
    note(this.stock.pool, ctx);
  }
}

@Injectable({ scope: Scope.REQUEST })
class ThroughFactory {
  constructor(@Inject('stock') readonly stock: Stock) {}
  @TaskHandler('durable')
  run(_: unknown, ctx: TaskContext): void {
    note(this.stock.pool, ctx);
  }
}

const stockByFactory = {
  provide: 'stock',
  scope: Scope.REQUEST,
  inject: [{ token: TenantPool, optional: true }],
  useFactory: (pool: TenantPool) => new Stock(pool),
};

test.each([
  ['by a property', [ByProperty]],
  ['by a forward reference', [ByForwardRef]],
  ['into what it has', [ThroughAnother, Stock]],
  ['into what a factory makes for it', [ThroughFactory, stockByFactory]],
])('what is durable and injected %s is shared as well', async (_, handlers) => {
  ContextIdFactory.apply(new ByTenant());
  own = [];
  await runTen([...handlers, TenantPool]);
  expect(made.toSorted()).toEqual(tenants);
  expect(own).toEqual(Array(10).fill(true));
});

test('a durable guard is shared in the same way', async () => {
  ContextIdFactory.apply(new ByTenant());
  let asked = 0;
  @Injectable({ scope: Scope.REQUEST, durable: true })
  class TenantGuard implements CanActivate {
    constructor(private readonly pool: TenantPool) {}
    canActivate(context: ExecutionContext): boolean {
      asked += 1;
      return this.pool.tenant === String(context.switchToRpc().getContext<TaskContext>().task.tenant);
    }
  }
  @Injectable()
  @UseGuards(TenantGuard)
  class Handlers {
    @TaskHandler('durable')
    run(): void {}
  }
  await runTen([Handlers, TenantPool]);
  expect([made.toSorted(), asked]).toEqual([tenants, 10]);
});

/** One that reads what only an HTTP request has. */
const byHeader: ContextIdStrategy<{ readonly headers: { readonly tenant: string } }> = {
  attach: (contextId, { headers }) => {
    const subTree = { id: Number(headers.tenant) };
    return ({ isTreeDurable }) => (isTreeDurable ? subTree : contextId);
  },
};

test('the strategy is not asked about tasks whose handlers have nothing durable', async () => {
  ContextIdFactory.apply(byHeader);
  @Injectable({ scope: Scope.REQUEST })
  class Handlers {
    @TaskHandler('durable')
    run(): void {
      made.push('handlers');
    }
  }
  await runTen([Handlers]);
  expect(made).toHaveLength(10);
});

test('a strategy that throws fails the attempt with what it threw', async () => {
  ContextIdFactory.apply(byHeader);
  @Injectable()
  class Handlers {
    constructor(readonly pool: TenantPool) {}
    @TaskHandler('durable')
    run(): void {}
  }
  const { queue } = await bench.start({ handlers: [Handlers, TenantPool], maxAttempts: 1 });
  const row = await bench.ended(await queue.insertTask({ topic: 'durable' }));
  expect(row).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining("reading 'tenant'") as unknown,
  });
});
