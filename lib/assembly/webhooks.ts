import type { QueueAdmin } from '../admin/queue-admin.js';
import type { QueueCore } from './core.js';
import { DeliverySeal } from '../webhooks/delivery-seal.js';
import { DeliveryTargets } from '../webhooks/delivery-target.js';
import { EndpointRegistry } from '../webhooks/endpoint-registry.js';
import { requestHeaders } from '../webhooks/request-headers.js';
import { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import { WebhookClient } from '../webhooks/webhook-client.js';
import { WebhookDelivery } from '../webhooks/webhook-delivery.js';
import { WebhookRegistry } from '../webhooks/webhook-registry.js';
import { WebhookRoutes } from '../webhooks/webhook-routes.js';
import { readWebhookUrl } from '../webhooks/webhook-url.js';
import { assembleParts, type QueueWorkerAssembly } from './worker.js';

/** What a process that delivers webhooks also has. */
export interface WebhookAssembly {
  readonly routes: WebhookRoutes;
  readonly client: WebhookClient;
  readonly service: QueueWebhooks;
}

/**
 * Puts the delivery of webhooks together; undefined where they are off. It has a worker of its own, so that slow endpoints
 * take no slots from code; that starts and stops with the main one.
 */
export function assembleWebhooks(core: QueueCore, main: QueueWorkerAssembly): WebhookAssembly | undefined {
  const { options, events, closing, declared, schedules, storage, database, tenants, history } = core;
  const { webhooks } = options;
  if (!webhooks) return undefined;
  const { bell } = storage;
  const { endpoints: store } = database;
  const client = new WebhookClient(webhooks);
  const tell = (): Promise<void> => bell.ring('tasks', { changed: true });
  const endpoints = new EndpointRegistry(store, events, webhooks, tell);
  const routes = new WebhookRoutes(endpoints);
  const { retryIntervalMinutes } = options;
  const targets = new DeliveryTargets(store, new DeliverySeal(store));
  const delivery = new WebhookDelivery({
    client,
    endpoints,
    targets,
    events,
    options: webhooks,
    retryIntervalMinutes,
  });
  const { admin } = main;
  const { worker } = assembleParts({
    database,
    events,
    closing,
    declared,
    schedules,
    tenants,
    counter: history?.tally,
    table: main.table,
    bell,
    liveness: storage.liveness(),
    options: {
      ...main.options,
      concurrency: webhooks.concurrency,
      order: 'fair',
      unknownTasks: 'leave',
    },
    registry: new WebhookRegistry(routes, delivery, main.registry),
    pausedRoutes: () => endpoints.pausedRoutes(),
    admin: (): QueueAdmin => admin,
  });
  main.worker.attach(worker);
  admin.subscriptions.attach({
    check: ({ url, headers }) => {
      readWebhookUrl(url ?? '', client.policy);
      requestHeaders(headers, null);
    },
    move: (id, from, to) => endpoints.moveSecrets(id, from, to),
    forget: (id) => endpoints.forget(id),
  });
  const service = new QueueWebhooks(store, admin, endpoints, client, events);
  return { routes, client, service };
}
