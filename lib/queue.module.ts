import {
  Global,
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
  ModuleRef,
  ModulesContainer,
} from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { QueueAdmin } from './admin/queue-admin.js';
import { SharedSessions } from './storage/postgres/connections/shared-sessions.js';
import { dashboardModule } from './dashboard/dashboard.module.js';
import { NotifyRoutine } from './maintenance/notify.routine.js';
import { PurgeRoutine } from './maintenance/purge.routine.js';
import { RetryRoutine } from './maintenance/retry.routine.js';
import { QueueLogs } from './observability/queue-logs.js';
import { assembleCore, assembleWorker, type QueueBasis, type QueueCore } from './assembly/core.js';
import { environmentWarnings } from './options/environment.js';
import { TarefaError } from './errors.js';
import { QueueEvents } from './events.js';
import { QueueGroup } from './assembly/queue-group.js';
import {
  asyncOptionProviders,
  type QueueModuleAsyncOptions,
  type QueueModuleOptions,
  type QueueNaming,
} from './options/module-options.js';
import type { QueueOptions } from './options/queue-options.js';
import { resolveOptions, type ResolvedOptions } from './options/resolve-options.js';
import { QueueRuntime } from './assembly/runtime.js';
import { defaultQueueName, getPartToken, getQueueToken } from './client/queue-tokens.js';
import { EnhancedHandlers } from './subscribers/enhanced-handler.js';
import { SubscriberExplorer } from './subscribers/subscriber.explorer.js';
import { TenantDatabases } from './tenants/tenant-databases.js';
import { assembleWebhooks, type WebhookAssembly } from './assembly/webhooks.js';
import { QueueWebhooks } from './webhooks/queue-webhooks.js';
import { unavailableWebhooks } from './webhooks/unavailable-webhooks.js';
import type { QueueWorkerAssembly } from './assembly/worker.js';
import { QueueWorker } from './worker/queue-worker.js';

/** What the queues of one application share. */
@Global()
@Module({
  providers: [
    { provide: SharedSessions, useFactory: () => new SharedSessions() },
    { provide: QueueGroup, useFactory: () => new QueueGroup() },
  ],
  exports: [SharedSessions, QueueGroup],
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
 * A queue in PostgreSQL: its connection, its client, and a worker for the methods decorated with
 * `@Subscriber`, `@TaskHandler` and their dead counterparts. Import it last in the root module.
 *
 * @example
 * @Module({ imports: [OrdersModule, QueueModule.forRoot({ connection: process.env.DATABASE_URL, queue: 'orders' })] })
 * export class AppModule {}
 */
@Module({})
export class QueueModule {
  /**
   * @throws {TarefaError} at start: `OPTIONS_INVALID`, `DATABASE_UNREACHABLE`, `DATABASE_REFUSED`, `RIGHTS_MISSING`,
   * `SCHEMA_MISSING`, `SCHEMA_CONFLICT`, `HANDLER_INVALID`, `EMBEDDED_…`
   */
  static forRoot({ name, dashboard, ...options }: QueueModuleOptions = {}): DynamicModule {
    return build({ name, dashboard }, {}, [{ provide: getPartToken(name, 'options'), useValue: options }]);
  }

  /**
   * The same with options from a provider.
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
      { provide: getQueueToken(name, QueueEvents), useFactory: () => new QueueEvents() },
      { provide: getQueueToken(name, QueueLogs), useFactory: () => new QueueLogs() },
      {
        provide: coreToken,
        inject: [
          getPartToken(name, 'options'),
          getQueueToken(name, QueueEvents),
          getQueueToken(name, QueueLogs),
          SharedSessions,
          QueueGroup,
          ModulesContainer,
        ],
        useFactory: openCore(name),
      },
      { provide: getQueueToken(name), inject: [coreToken], useFactory: (one: QueueBasis) => one.client },
      {
        provide: getPartToken(name, 'closer'),
        inject: [coreToken, getQueueToken(name, QueueLogs)],
        useFactory: (one: QueueBasis, logs: QueueLogs) => new QueueCoreCloser(one, logs),
      },
      { provide: assemblyToken, inject: [coreToken], useFactory: assembleWorker },
      { provide: webhooksToken, inject: [coreToken, assemblyToken], useFactory: assembleWebhooks },
      {
        provide: getQueueToken(name, QueueWebhooks),
        inject: [webhooksToken],
        useFactory: (webhooks: WebhookAssembly | undefined) => webhooks?.service ?? unavailableWebhooks(),
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
    imports: [core, DiscoveryModule, ...(dashboard ? [dashboardModule(name, core, dashboard)] : [])],
    providers: [runtimeProvider(name)],
    exports: [core],
  };
}

const openCore =
  (name: string) =>
  async (
    given: QueueOptions,
    events: QueueEvents,
    logs: QueueLogs,
    sessions: SharedSessions,
    group: QueueGroup,
    modules: ModulesContainer,
  ): Promise<QueueCore> => {
    group.add(name);
    try {
      refuseSameName(name, modules);
      const options = resolveOptions(given);
      logs.start(events, options);
      await group.closeOnFailure(() => logs.close());
      const failed = new AbortController();
      await group.closeOnFailure(async () => failed.abort());
      const core = await openResolved(options, events, sessions, failed.signal);
      await group.closeOnFailure(() => core.close());
      return core;
    } catch (error) {
      await group.leave();
      throw error;
    }
  };

async function openResolved(
  options: ResolvedOptions,
  events: QueueEvents,
  sessions: SharedSessions,
  signal: AbortSignal,
): Promise<QueueCore> {
  for (const message of environmentWarnings(process.env)) events.emit('warning', { message });
  const core = await assembleCore(options, events, sessions, signal);
  for (const message of core.schema.warnings) events.emit('warning', { message });
  if (core.schema.made.length > 0) {
    events.emit('notice', { message: `made ${core.schema.made.join(', ')}` });
  }
  return core;
}

/** Two queues of one name share their tokens, so that one would get what is meant for the other. */
function refuseSameName(name: string, modules: ModulesContainer): void {
  const same = [...modules.values()].filter(({ providers }) => providers.has(getPartToken(name, 'core')));
  if (same.length < 2) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `the application imports ${same.length} queues named '${name}': give each QueueModule.forRoot() a name of its ` +
      `own, or call it once. Its QueueClient can be injected everywhere.`,
  );
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
      ModuleRef,
      ModulesContainer,
      ExternalContextCreator,
      QueueModule,
      { token: SchedulerRegistry, optional: true },
    ],
    useFactory: (
      core: QueueBasis,
      assembly: QueueWorkerAssembly,
      webhooks: WebhookAssembly | undefined,
      group: QueueGroup,
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      moduleRef: ModuleRef,
      modules: ModulesContainer,
      creator: ExternalContextCreator,
      module: QueueModule,
      scheduler?: SchedulerRegistry,
    ) => {
      const { globalEnhancers, wrapHandler } = core.options;
      const enhanced = new EnhancedHandlers(creator, modules, globalEnhancers);
      const { schemas } = core;
      return new QueueRuntime({
        name,
        core,
        assembly,
        webhooks,
        explorer: new SubscriberExplorer({
          discovery,
          scanner,
          moduleRef,
          modules,
          enhanced,
          schemas,
          wrapHandler,
        }),
        enhanced,
        scheduler: scheduler ?? new SchedulerRegistry(),
        modules,
        group,
        module: () => module,
      });
    },
  };
}
