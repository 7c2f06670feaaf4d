import {
  BadRequestException,
  Catch,
  Controller,
  createParamDecorator,
  ForbiddenException,
  Inject,
  Injectable,
  Module,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { IsInt, IsString } from 'class-validator';
import { map, of, tap, type Observable } from 'rxjs';
import { expect, test } from 'vitest';
import {
  Ctx,
  isQueueContext,
  Payload,
  QueueClient,
  QueueExceptionFilter,
  QueueModule,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { layoutOfRun, withoutRoutines } from '../support/queue-app.js';
import { useQueue } from '../worker/queue-bench.js';
import { onPostgres } from '../support/run-database.js';

const bench = useQueue();
let steps: unknown[] = [];

/** A provider that only enhancers inject. */
@Injectable()
class Permissions {
  readonly allowed = new Set(['yes']);
}

@Injectable()
class PermissionGuard implements CanActivate {
  constructor(private readonly permissions: Permissions) {}
  canActivate(context: ExecutionContext): boolean {
    const payload = context.switchToRpc().getData<{ may?: string }>();
    const { task } = context.switchToRpc().getContext<TaskContext>();
    steps.push(['guard', isQueueContext(context), task.topic, context.getHandler().name]);
    return this.permissions.allowed.has(payload?.may ?? 'yes');
  }
}

@Injectable()
class Logging implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    steps.push(['before', context.getClass().name]);
    return next.handle().pipe(
      tap(() => steps.push(['after'])),
      map((value) => `${String(value)}, intercepted`),
    );
  }
}

class Trim implements PipeTransform {
  transform(value: { name: string }): { name: string } {
    steps.push(['pipe', value]);
    return { name: value.name.trim() };
  }
}

@Catch(TypeError)
class Forgive implements ExceptionFilter {
  catch(error: TypeError, host: ArgumentsHost): string {
    steps.push(['filter', isQueueContext(host), error.message]);
    return 'forgiven';
  }
}

async function run(handlers: Provider[], payload: unknown, options = {}) {
  steps = [];
  const { queue } = await bench.start({ handlers, maxAttempts: 3, ...options });
  return bench.ended(await queue.insertTask({ topic: 'enhanced', payload }));
}

test('guard, interceptor, pipe and handler run in this order, with the providers of their module', async () => {
  @Injectable()
  @UseGuards(PermissionGuard)
  class Enhanced {
    @TaskHandler('enhanced')
    @UseInterceptors(Logging)
    @UsePipes(Trim)
    async handle({ name }: { name: string }, ctx: TaskContext): Promise<string> {
      const { rows } = await ctx.db.query(onPostgres ? 'select 1 as one' : 'select 1e0 as one');
      steps.push(['handler', name, ctx.task.topic, rows]);
      return name;
    }
  }
  const ended = await run([Enhanced, Permissions, PermissionGuard, Logging, Trim], { name: ' Ana ' });
  expect(ended).toMatchObject({ status: 'sucesso', mensagem: 'Ana, intercepted' });
  expect(steps).toEqual([
    ['guard', true, 'enhanced', 'handle'],
    ['before', 'Enhanced'],
    ['pipe', { name: ' Ana ' }],
    ['handler', 'Ana', 'enhanced', [{ one: 1 }]],
    ['after'],
  ]);
});

test('a guard may throw anything', async () => {
  @Injectable()
  class Guarded {
    @TaskHandler('enhanced')
    @UseGuards({
      canActivate: () => {
        throw null;
      },
    })
    handle(): void {}
  }
  expect(await run([Guarded], {})).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('the handler threw null') as unknown,
  });
});

test('a guard that refuses fails the attempt, which is tried again', async () => {
  @Injectable()
  class Guarded {
    @TaskHandler('enhanced', { retryDelayMs: 0 })
    @UseGuards(PermissionGuard)
    handle(): void {
      steps.push('handled');
    }
  }
  const ended = await run([Guarded, Permissions], { may: 'no' });
  expect(ended).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('Forbidden') as unknown });
  expect(ended).toMatchObject({ reenfileirado: true });
  expect(steps).not.toContain('handled');
});

test('a filter that answers makes a success of a failure, and one that does not match changes nothing', async () => {
  @Injectable()
  @UseFilters(Forgive)
  class Filtered {
    @TaskHandler('enhanced', { maxAttempts: 1 })
    handle({ kind }: { kind: string }): void {
      throw kind === 'type' ? new TypeError('of a type') : new RangeError('of a range');
    }
  }
  expect(await run([Filtered], { kind: 'type' })).toMatchObject({ status: 'sucesso', mensagem: 'forgiven' });
  expect(steps).toEqual([['filter', true, 'of a type']]);
  const lines: unknown[] = [];
  const logger = {
    log: () => {},
    warn: () => {},
    error: (...line: unknown[]) => lines.push(line),
  };
  expect(await run([Filtered], { kind: 'range' }, { logger })).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('of a range') as unknown,
  });
  // Nest's own last filter would log it as well.
  expect(lines.filter((line) => JSON.stringify(line).includes('ExceptionsHandler'))).toEqual([]);
});

test('parameters are decorated: the payload or a property of it through pipes, the context, and one’s own', async () => {
  const Attempt = createParamDecorator(
    (_, context: ExecutionContext) => context.switchToRpc().getContext<TaskContext>().task.attempt,
  );
  class Double implements PipeTransform {
    transform(value: number): number {
      return value * 2;
    }
  }
  @Injectable()
  class Decorated {
    @TaskHandler('enhanced')
    @UsePipes({ transform: (value: unknown) => value })
    handle(
      @Ctx() ctx: TaskContext,
      @Payload('n', Double) n: number,
      @Attempt() attempt: number,
      @Payload() whole: unknown,
    ): string {
      return JSON.stringify([ctx.task.topic, n, attempt, whole]);
    }
  }
  expect(await run([Decorated], { n: 21 })).toMatchObject({
    mensagem: JSON.stringify(['enhanced', 42, 1, { n: 21 }]),
  });
});

/** Classes of one name and with the same methods, as an application has them in several folders. */
function makeBilling(): Type {
  class Total {
    @IsInt()
    total!: number;
  }
  @Injectable()
  class Service {
    @TaskHandler('bill')
    handle(@Payload('total') total: unknown): string {
      return `bill ${String(total)}`;
    }
    @TaskHandler('checked bill')
    @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
    check(payload: Total): string {
      return JSON.stringify([payload instanceof Total, payload]);
    }
  }
  return Service;
}

function makeSearch(): Type {
  class Words {
    @IsString()
    words!: string;
  }
  @Injectable()
  class Service {
    @TaskHandler('index', { transformed: true })
    handle(@Ctx() ctx: TaskContext, @Payload('words') words: unknown): string {
      return `${ctx.task.topic} ${String(words)}`;
    }
    @TaskHandler('checked index')
    @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
    check(payload: Words): string {
      return JSON.stringify([payload instanceof Words, payload]);
    }
  }
  return Service;
}

@Module({})
class BillingModule {}

@Module({})
class SearchModule {}

test.each([Scope.DEFAULT, Scope.REQUEST])(
  'two classes of one name have parameters and pipes of their own (scope %s)',
  async (scope) => {
    const imports = [
      { module: BillingModule, providers: [{ provide: 'SERVICE', useClass: makeBilling(), scope }] },
      { module: SearchModule, providers: [{ provide: 'SERVICE', useClass: makeSearch(), scope }] },
    ];
    const { queue } = await bench.start({ imports, maxAttempts: 1 });
    const payload = { total: 7, words: 'of an order' };
    const messages: unknown[] = [];
    for (const topic of ['bill', 'index', 'checked bill', 'checked index', 'bill', 'checked bill']) {
      messages.push((await bench.ended(await queue.insertTask({ topic, payload }))).mensagem);
    }
    const checked = JSON.stringify([true, { total: 7 }]);
    expect(messages).toEqual([
      'bill 7',
      'index of an order',
      checked,
      JSON.stringify([true, { words: 'of an order' }]),
      'bill 7',
      checked,
    ]);
  },
);

test('a pipe that refuses the payload fails the task at once, saying why; the handler may still throw the same', async () => {
  class Refuse implements PipeTransform {
    transform(value: { bad?: boolean }): unknown {
      if (value.bad) throw new BadRequestException(['name must be text', 'age must be a number']);
      return value;
    }
  }
  @Injectable()
  class Refused {
    @TaskHandler('enhanced', { retryDelayMs: 0 })
    @UsePipes(new Refuse())
    handle(): void {
      throw new BadRequestException('not now');
    }
  }
  expect(await run([Refused], { bad: true })).toMatchObject({
    status: 'falha',
    reenfileirado: false,
    mensagem: expect.stringContaining(
      'refused by Refuse: name must be text; age must be a number',
    ) as unknown,
  });
  expect(await run([Refused], {})).toMatchObject({
    status: 'falha',
    reenfileirado: true,
    mensagem: expect.stringContaining('not now') as unknown,
  });
});

class HttpGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class HttpInterceptor implements NestInterceptor {
  intercept(): Observable<string> {
    return of('intercepted globally');
  }
}

class HttpPipe implements PipeTransform {
  transform(): string {
    return 'piped globally';
  }
}

@Catch(ForbiddenException)
class HttpFilter implements ExceptionFilter {
  catch(): string {
    return 'filtered globally';
  }
}

@Module({
  providers: [
    { provide: APP_GUARD, useClass: HttpGuard },
    { provide: APP_INTERCEPTOR, useClass: HttpInterceptor },
    { provide: APP_PIPE, useClass: HttpPipe },
    { provide: APP_FILTER, useClass: HttpFilter },
  ],
})
class GlobalsModule {}

@Injectable()
class Plain {
  @TaskHandler('enhanced', { maxAttempts: 1 })
  handle(payload: unknown): string {
    return `handled ${String(payload)}`;
  }
}

test('global enhancers are left out, and named at the start', async () => {
  const messages: string[] = [];
  const logger = { log: (line: unknown) => messages.push(String(line)), warn: () => {}, error: () => {} };
  const imports = [{ module: GlobalsModule }];
  expect(await run([Plain], 'text', { imports, logger })).toMatchObject({ mensagem: 'handled text' });
  expect(messages.find((line) => line.includes('global enhancers'))).toMatch(
    /guards HttpGuard; interceptors HttpInterceptor; pipes HttpPipe; filters HttpFilter\).*globalEnhancers: \['guards', 'interceptors', 'pipes', 'filters'\]/,
  );
});

test('so are those that the program of an application gives it before it starts', async () => {
  const logger = new LogLines();
  @Module({ providers: [Plain] })
  class PlainModule {}
  const compiled = await Test.createTestingModule({
    imports: [
      PlainModule,
      QueueModule.forRoot({
        connection: bench.database.url,
        queue: 'tasks',
        ...layoutOfRun(),
        ...withoutRoutines,
      }),
    ],
  })
    .setLogger(logger)
    .compile();
  const app = compiled.createNestApplication();
  app.useGlobalGuards(new HttpGuard()).useGlobalPipes(new HttpPipe());
  await app.init();
  try {
    expect(logger.of('log').find((line) => line.includes('global enhancers'))).toMatch(
      /guards HttpGuard; pipes HttpPipe\).*globalEnhancers: \['guards', 'pipes'\]/,
    );
    const id = await app.get(QueueClient).insertTask({ topic: 'enhanced', payload: 'text' });
    expect(await bench.ended(id)).toMatchObject({ mensagem: 'handled text' });
  } finally {
    await app.close();
  }
});

test.each<[how: string, provider: Provider]>([
  ['by its class', { provide: APP_FILTER, useClass: QueueExceptionFilter }],
  ['as an instance', { provide: APP_FILTER, useValue: new QueueExceptionFilter() }],
])("the library's own filter, given %s, is not missed: it answers requests", async (_how, provider) => {
  const messages: string[] = [];
  const logger = { log: (line: unknown) => messages.push(String(line)), warn: () => {}, error: () => {} };
  @Module({ providers: [provider] })
  class FilterModule {}
  const imports = [{ module: FilterModule }];
  expect(await run([Plain], 'text', { imports, logger })).toMatchObject({ mensagem: 'handled text' });
  expect(messages.join('\n')).toMatch(/Plain\.handle handles task/);
  expect(messages.join('\n')).not.toContain('global enhancers');
});

test.each([
  { chosen: ['pipes'], message: /^handled piped globally$/ },
  { chosen: ['interceptors'], message: /^intercepted globally$/ },
  { chosen: ['guards'], message: /^Forbidden/ },
  { chosen: ['guards', 'filters'], message: /^filtered globally$/ },
  { chosen: true, message: /^filtered globally$/ },
] as const)('global enhancers that are asked for run: $chosen', async ({ chosen, message }) => {
  const imports = [{ module: GlobalsModule }];
  const { mensagem } = await run([Plain], 'text', { imports, globalEnhancers: chosen });
  expect(mensagem).toMatch(message);
});

test('handlers of controllers and request-scoped ones are guarded by the providers of their module', async () => {
  @Controller('orders')
  @UseGuards(PermissionGuard)
  class OrdersController {
    @TaskHandler('of a controller')
    handle(payload: unknown): string {
      return `controller ${JSON.stringify(payload)}`;
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  @UseGuards(PermissionGuard)
  class Scoped {
    constructor(@Inject(REQUEST) private readonly context: TaskContext) {}
    @Subscriber('scoped')
    @UseInterceptors(Logging)
    handle(@Payload('name') name: string): string {
      return `${name} by ${this.context.subscription?.id}`;
    }
  }
  @Module({ controllers: [OrdersController], providers: [Permissions, Scoped] })
  class OrdersModule {}
  steps = [];
  const { queue } = await bench.start({ imports: [{ module: OrdersModule }], maxAttempts: 1 });
  const ended = await Promise.all(
    [{ may: 'yes' }, { may: 'no' }].map(async (payload) =>
      bench.ended(await queue.insertTask({ topic: 'of a controller', payload })),
    ),
  );
  expect(ended).toMatchObject([{ mensagem: 'controller {"may":"yes"}' }, { status: 'falha' }]);
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('scoped', 'published')`);
  const publication = await queue.insertTaskPubSub({ topic: 'published', payload: { name: 'Ana' } });
  await bench.ended(publication);
  const { rows } = await bench.pool.query<{ id: string }>('select id from tasks where publication_id = $1', [
    publication,
  ]);
  expect(await bench.ended(rows[0]?.id ?? '')).toMatchObject({ mensagem: 'Ana by scoped, intercepted' });
});
