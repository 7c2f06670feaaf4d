import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type Provider,
  type Type,
} from '@nestjs/common';
import {
  DiscoveryModule,
  DiscoveryService,
  ExternalContextCreator,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { QueueAdmin } from './admin/queue-admin.js';
import { NotifyRoutine } from './maintenance/notify.routine.js';
import { PurgeRoutine } from './maintenance/purge.routine.js';
import { RetryRoutine } from './maintenance/retry.routine.js';
import type { QueueBasis, QueueCore } from './assembly/core.js';
import type { QueueOptions } from './options/queue-options.js';
import type { WebhookAssembly } from './assembly/webhooks.js';
import type { DashboardOptions } from './options/dashboard-options.js';
import { QueueLogs } from './observability/queue-logs.js';
import { TarefaError } from './errors.js';
import { QueueEvents } from './events.js';
import { QueueGroup } from './assembly/queue-group.js';
import {
  asyncOptionProviders,
  type QueueModuleAsyncOptions,
  type QueueModuleOptions,
  type QueueNaming,
} from './options/module-options.js';
import { getQueueToken } from './client/queue-tokens.js';
import { defaultQueueName, getPartToken } from './options/part-token.js';
import { TenantDatabases } from './tenants/tenant-databases.js';
import { QueueWebhooks } from './webhooks/queue-webhooks.js';
import type { QueueWorkerAssembly } from './assembly/worker.js';
import { QueueWorker } from './worker/queue-worker.js';

/** What an application loads when it makes its queue, and not when it only names one, in a decorator or a test. */
const assembly = () => import('./assembly/queue.js');

/** What the queues of one application share. */
@Global()
@Module({
  providers: [{ provide: QueueGroup, useFactory: () => new QueueGroup() }],
  exports: [QueueGroup],
})
class QueueSharedModule {}

/**
 * Options, database, client and parts of a queue, for the whole application: any module's providers may inject them. It
 * outlives the worker's work, which `QueueModule` starts and ends.
 */
@Module({})
class QueueCoreModule {}

/** Closes a queue's connections when everything that may still insert is gone; its log is the last to go. */
class QueueCoreCloser implements OnApplicationShutdown {
  constructor(
    readonly core: QueueBasis,
    readonly logs: QueueLogs,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    try {
      await this.core.close();
    } finally {
      await this.logs.close();
    }
  }
}

/**
 * A queue in PostgreSQL, MySQL or MariaDB: its connection, its client, and a worker for the methods decorated with
 * `@Subscriber`, `@TaskHandler` and their dead counterparts. Import it last in the root module.
 *
 * @example
 * @Module({ imports: [OrdersModule, QueueModule.forRoot({ connection: process.env.DATABASE_URL, queue: 'orders' })] })
 * export class AppModule {}
 */
@Module({})
export class QueueModule {
  /** @hidden */
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    if ([...modules.values()].some(({ metatype }) => metatype === QueueCoreModule)) return;
    throw new TarefaError(
      'OPTIONS_INVALID',
      'QueueModule is imported without forRoot(), so there is no queue and no handler runs: import ' +
        "QueueModule.forRoot({ connection: process.env.DATABASE_URL, queue: 'orders' }) in the root module",
    );
  }

  /**
   * @throws {TarefaError} at start: `OPTIONS_INVALID`, `DATABASE_UNREACHABLE`, `DATABASE_REFUSED`, `RIGHTS_MISSING`,
   * `SCHEMA_MISSING`, `SCHEMA_CONFLICT`, `HANDLER_INVALID`, `EMBEDDED_…`
   */
  static forRoot({ name, dashboard, ...options }: QueueModuleOptions = {}): DynamicModule {
    return build({ name, dashboard }, {}, [{ provide: getPartToken(name, 'options'), useValue: options }]);
  }

  /**
   * Registers a queue whose options come from a provider: a factory, a class, or one that exists.
   *
   * @example
   * QueueModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ connection: config.getOrThrow('DATABASE_URL'), queue: 'orders' }),
   * })
   */
  static forRootAsync(options: QueueModuleAsyncOptions): DynamicModule {
    return build(options, { imports: options.imports ?? [] }, asyncOptionProviders(options));
  }
}

function build(
  { name = defaultQueueName, dashboard }: QueueNaming,
  { imports = [] }: Pick<ModuleMetadata, 'imports'>,
  optionProviders: readonly Provider[],
): DynamicModule {
  const coreToken = getPartToken(name, 'core');
  const assemblyToken = getPartToken(name, 'assembly');
  const webhooksToken = getPartToken(name, 'webhooks');
  const part = <T>(type: Type<T>, pick: (assembly: QueueWorkerAssembly) => T): Provider => ({
    provide: getQueueToken(name, type),
    inject: [assemblyToken],
    useFactory: pick,
  });
  const parts = [
    part(QueueWorker, ({ worker }) => worker),
    part(RetryRoutine, ({ retry }) => retry),
    part(NotifyRoutine, ({ notify }) => notify),
    part(PurgeRoutine, ({ purge }) => purge),
    part(QueueAdmin, ({ admin }) => admin),
  ];
  const core: DynamicModule = {
    module: QueueCoreModule,
    global: true,
    imports: [QueueSharedModule, ...imports],
    providers: [
      ...optionProviders,
      // What a test gives instead: see withTester().
      { provide: getPartToken(name, 'overrides'), useValue: undefined },
      { provide: getQueueToken(name, QueueEvents), useFactory: () => new QueueEvents() },
      { provide: getQueueToken(name, QueueLogs), useFactory: () => new QueueLogs() },
      {
        provide: coreToken,
        inject: [
          getPartToken(name, 'options'),
          getPartToken(name, 'overrides'),
          getQueueToken(name, QueueEvents),
          getQueueToken(name, QueueLogs),
          QueueGroup,
          ModulesContainer,
        ],
        useFactory: async (
          options: QueueOptions,
          overrides: QueueOptions | undefined,
          events: QueueEvents,
          logs: QueueLogs,
          group: QueueGroup,
          modules: ModulesContainer,
        ) =>
          (await assembly()).openQueue({
            name,
            options: overrides ? { ...options, ...overrides } : options,
            redact: dashboard?.redact,
            events,
            logs,
            group,
            modules,
          }),
      },
      { provide: getQueueToken(name), inject: [coreToken], useFactory: (one: QueueBasis) => one.client },
      {
        provide: getPartToken(name, 'closer'),
        inject: [coreToken, getQueueToken(name, QueueLogs)],
        useFactory: (one: QueueBasis, logs: QueueLogs) => new QueueCoreCloser(one, logs),
      },
      {
        provide: assemblyToken,
        inject: [coreToken],
        useFactory: async (one: QueueCore) => (await assembly()).assembleWorker(one),
      },
      {
        provide: webhooksToken,
        inject: [coreToken, assemblyToken],
        useFactory: async (one: QueueCore, worker: QueueWorkerAssembly) =>
          (await assembly()).openWebhooks(one, worker),
      },
      {
        provide: getQueueToken(name, QueueWebhooks),
        inject: [webhooksToken],
        useFactory: async (webhooks: WebhookAssembly | undefined) =>
          webhooks?.service ?? (await assembly()).unavailableWebhooks(),
      },
      {
        provide: getQueueToken(name, TenantDatabases),
        inject: [coreToken],
        useFactory: (one: QueueBasis) => one.tenants,
      },
      ...parts,
    ],
    exports: [
      coreToken,
      assemblyToken,
      webhooksToken,
      getQueueToken(name),
      getQueueToken(name, QueueEvents),
      getQueueToken(name, QueueLogs),
      getQueueToken(name, TenantDatabases),
      ...[QueueWorker, RetryRoutine, NotifyRoutine, PurgeRoutine, QueueAdmin, QueueWebhooks].map((type) =>
        getQueueToken<unknown>(name, type),
      ),
    ],
  };
  return {
    module: QueueModule,
    imports: [core, DiscoveryModule, ...(dashboard ? [serveDashboard(name, core, dashboard)] : [])],
    providers: [runtimeProvider(name)],
    exports: [core],
  };
}

function runtimeProvider(name: string): Provider {
  return {
    provide: getPartToken(name, 'runtime'),
    inject: [
      getPartToken(name, 'core'),
      getPartToken(name, 'assembly'),
      getPartToken(name, 'webhooks'),
      QueueGroup,
      DiscoveryService,
      MetadataScanner,
      ModulesContainer,
      ExternalContextCreator,
      QueueModule,
      { token: SchedulerRegistry, optional: true },
    ],
    useFactory: async (
      core: QueueBasis,
      worker: QueueWorkerAssembly,
      webhooks: WebhookAssembly | undefined,
      group: QueueGroup,
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      modules: ModulesContainer,
      creator: ExternalContextCreator,
      module: QueueModule,
      scheduler?: SchedulerRegistry,
    ) => {
      const { makeRuntime } = await assembly();
      const nest = { discovery, scanner, modules, creator };
      return makeRuntime({ name, core, assembly: worker, webhooks, group, nest, scheduler, module });
    },
  };
}

function serveDashboard(
  name: string,
  core: DynamicModule,
  options: DashboardOptions,
): Promise<DynamicModule> {
  const made = import('./dashboard/dashboard.module.js').then(({ dashboardModule }) =>
    dashboardModule(name, core, options),
  );
  // The caller that makes the application gets the error; until then it must not be unhandled.
  made.catch(() => undefined);
  return made;
}
