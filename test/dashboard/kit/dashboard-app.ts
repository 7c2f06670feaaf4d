import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { DynamicModule, INestApplication, Provider } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  QueueAdmin,
  QueueClient,
  QueueEvents,
  QueueModule,
  QueueWebhooks,
  type QueueEventMap,
  type QueueModuleOptions,
} from '../../../lib/index.js';
import { withoutRoutines } from '../../support/queue-app.js';

@Module({})
class HandlersModule {}

@Module({})
class ShopModule {}

/** How an application with a dashboard is started; without handlers it has no worker. */
export interface DashboardAppOptions extends QueueModuleOptions {
  /** Default `express`. */
  readonly adapter?: 'express' | 'fastify';
  readonly globalPrefix?: string;
  /** Default: a free one. */
  readonly port?: number;
  readonly handlers?: readonly Provider[];
  /** Further queues of the application, in the same database, without workers. */
  readonly others?: readonly QueueModuleOptions[];
  /** True: any origin may read what the application answers, as `enableCors()` has it. Default false. */
  readonly cors?: boolean;
  /** True: what forwarding headers say is believed by Express and Fastify. Default false. */
  readonly trustProxy?: boolean;
  /** Gives the application body parsers of its own, instead of Nest's. */
  readonly parse?: (app: INestApplication) => void;
  /** Does to the application what its `main.ts` would, before it listens. */
  readonly configure?: (app: INestApplication) => void;
  /** Options of Fastify's adapter. */
  readonly fastify?: ConstructorParameters<typeof FastifyAdapter>[0];
}

/** A running application with a dashboard. */
export interface DashboardApp {
  /** Of its server, without a path. */
  readonly origin: string;
  /** Of the dashboard, without a slash at its end. */
  readonly url: string;
  readonly queue: QueueClient;
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
  /** What was done from the dashboard so far. */
  readonly told: QueueEventMap['dashboard.action'][];
  /** Live streams that are open at the moment. */
  readonly streams: () => number;
  readonly close: () => Promise<void>;
}

/** Starts an application whose queue is `tasks` in that database, on a free port of loopback. */
export async function startDashboardApp(
  databaseUrl: string,
  {
    adapter = 'express',
    globalPrefix,
    port = 0,
    handlers = [],
    others = [],
    cors = false,
    trustProxy = false,
    parse,
    configure,
    fastify,
    dashboard,
    ...options
  }: DashboardAppOptions,
): Promise<DashboardApp> {
  const module: DynamicModule = {
    module: ShopModule,
    imports: [
      { module: HandlersModule, providers: [...handlers], exports: [...handlers] },
      ...others.map((other) => QueueModule.forRoot({ connection: databaseUrl, worker: false, ...other })),
      QueueModule.forRoot({
        connection: databaseUrl,
        queue: 'tasks',
        worker: handlers.length > 0,
        ...withoutRoutines,
        ...options,
        dashboard: { actions: true, ...dashboard },
      }),
    ],
  };
  const settings = { logger: false, abortOnError: false, bodyParser: parse === undefined } as const;
  const app: INestApplication =
    adapter === 'fastify'
      ? await NestFactory.create(module, new FastifyAdapter({ trustProxy, ...fastify }), settings)
      : await NestFactory.create(module, settings);
  if (adapter === 'express' && trustProxy) (app as NestExpressApplication).set('trust proxy', true);
  parse?.(app);
  configure?.(app);
  if (cors) app.enableCors();
  if (globalPrefix !== undefined) app.setGlobalPrefix(globalPrefix);
  const streams = watchStreams(app.getHttpServer() as Server);
  const told: QueueEventMap['dashboard.action'][] = [];
  app.get(QueueEvents).on('dashboard.action', (event) => told.push(event));
  await app.listen(port, '127.0.0.1');
  const origin = await app.getUrl();
  const path = [globalPrefix, dashboard?.path ?? 'queues']
    .flatMap((part) => part?.split('/') ?? [])
    .filter((part) => part !== '');
  return {
    origin,
    url: [origin, ...path].join('/'),
    queue: app.get(QueueClient),
    admin: app.get(QueueAdmin),
    webhooks: app.get(QueueWebhooks),
    told,
    streams,
    close: () => app.close(),
  };
}

function watchStreams(server: Server): () => number {
  let open = 0;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.endsWith('/api/stream') !== true) return;
    open += 1;
    response.once('close', () => (open -= 1));
  });
  return () => open;
}
