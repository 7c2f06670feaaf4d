import { Inject, Module, type DynamicModule, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { QueueAdmin } from '../admin/queue-admin.js';
import { getQueueToken } from '../client/queue-tokens.js';
import { defaultQueueName, getPartToken } from '../options/part-token.js';
import { QueueWorker } from '../worker/queue-worker.js';
import { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import { makeControllers } from './dashboard.controllers.js';
import { DashboardGroup } from './dashboard-group.js';
import { Dashboard, type ShownQueue } from './dashboard.js';
import { resolveDashboard, type DashboardOptions } from '../options/dashboard-options.js';
import { adaptFastify } from './fastify.js';
import { LoopbackGuard } from './loopback.guard.js';

/** What the dashboards of one application share. */
@Module({
  providers: [{ provide: DashboardGroup, useFactory: () => new DashboardGroup() }],
  exports: [DashboardGroup],
})
class DashboardGroupModule {}

/**
 * Serves the dashboard of one queue, in applications that serve HTTP.
 *
 * @param core what provides the queue's parts
 * @returns rejects with `OPTIONS_INVALID` when the application is made
 */
export async function dashboardModule(
  name: string | undefined,
  core: DynamicModule,
  given: DashboardOptions,
): Promise<DynamicModule> {
  const options = resolveDashboard(given);
  // A class for each dashboard: two of them are two modules.
  const { path } = options;
  const queueName = name ?? defaultQueueName;
  const guards = options.guards.length > 0 ? options.guards : [new LoopbackGuard()];
  const token = getPartToken(name, 'dashboard');
  const controllers = await makeControllers(token, guards, options);

  @Module({})
  class QueueDashboardModule implements OnModuleInit {
    constructor(
      @Inject(HttpAdapterHost) readonly host: HttpAdapterHost,
      @Inject(ApplicationConfig) readonly application: ApplicationConfig,
    ) {}

    onModuleInit(): void {
      adaptFastify(this.host.httpAdapter, this.application.getGlobalPrefix(), path);
    }
  }

  return {
    module: QueueDashboardModule,
    imports: [core, DashboardGroupModule, ...options.imports],
    controllers: Object.values(controllers),
    providers: [
      {
        provide: token,
        inject: [
          getPartToken(name, 'core'),
          getQueueToken(name, QueueAdmin),
          getQueueToken(name, QueueWorker),
          getQueueToken(name, QueueWebhooks),
          DashboardGroup,
        ],
        useFactory: (
          queue: ShownQueue,
          admin: QueueAdmin,
          worker: QueueWorker,
          webhooks: QueueWebhooks,
          group: DashboardGroup,
        ) => {
          group.add({ name: queueName, path });
          return new Dashboard({ name: queueName, core: queue, admin, worker, webhooks, group, options });
        },
      },
    ],
  };
}
