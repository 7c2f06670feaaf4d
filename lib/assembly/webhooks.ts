import type { QueueAdmin } from '../admin/queue-admin.js';
import { makeCoordinator, type QueueCore } from './core.js';
import { DeliverySeal } from '../webhooks/delivery-seal.js';
import { DeliveryTargets } from '../webhooks/delivery-target.js';
import { EndpointBook } from '../webhooks/endpoint-book.js';
import { requestHeaders } from '../webhooks/request-headers.js';
import { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import { WebhookClient } from '../webhooks/webhook-client.js';
import { WebhookDelivery } from '../webhooks/webhook-delivery.js';
import { WebhookRegistry } from '../webhooks/webhook-registry.js';
import { WebhookRoutes } from '../webhooks/webhook-routes.js';
import { readWebhookUrl } from '../webhooks/webhook-url.js';
import { assembleParts, type QueueWorkerAssembly } from './worker.js';

/** What a process that delivers webhooks has besides. */
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
  const { options, events, closing, database, schema, connections, tenants, history } = core;
  const { webhooks } = options;
  if (!webhooks) return undefined;
  const { tables } = schema;
  const client = new WebhookClient(webhooks);
  const book = new EndpointBook({
    handle: connections.inserts,
    ask: connections.ask,
    tables,
    channel: options.queue,
    events,
    options: webhooks,
  });
  const routes = new WebhookRoutes(book);
  const { retryIntervalMinutes } = options;
  const { inserts: handle } = connections;
  const targets = new DeliveryTargets({ handle, tables, seal: new DeliverySeal({ handle, tables }) });
  const delivery = new WebhookDelivery({
    client,
    book,
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
    tenants,
    counter: history?.tally,
    coordinator: makeCoordinator(core),
    options: {
      ...main.options,
      concurrency: webhooks.concurrency,
      order: 'fair',
      unknownTasks: 'leave',
    },
    registry: new WebhookRegistry(routes, delivery, main.registry),
    holds: () => book.holds(),
    admin: (): QueueAdmin => admin,
  });
  main.worker.attach(worker);
  admin.subscriptions.attach({
    check: ({ url, headers }) => {
      readWebhookUrl(url ?? '', client.policy);
      requestHeaders(headers, null);
    },
    move: (id, from, to) => book.moveSecrets(id, from, to),
    forget: (id) => book.forget(id),
  });
  const service = new QueueWebhooks({ handle: connections.inserts, tables, admin, book, client });
  return { routes, client, service };
}
