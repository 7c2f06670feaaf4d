import type { Adapter, OpenAdapter, Payload } from '../protocol.js';
import { enhancedHandlers } from './enhanced-handlers.js';
import { makeHandlers } from './handlers.js';
import { isDone } from './is-done.js';
import { mostHandled, Publisher, subscriptionIds } from './publisher.js';
import { openQueue } from './queue.js';
import { settings } from './settings.js';
import { measureViews } from './views.js';
import { WebhookEndpoints } from './webhook-endpoints.js';

const hangingEndpoints = 10;

/** This library, used as its documentation says. */
const open: OpenAdapter = ({ postgres: url, setting, topics }): Adapter => {
  const options = settings[setting];
  if (options === undefined) throw new Error(`tarefa has no setting ${setting}`);
  const subscriptions = setting === 'fan-out' && topics <= mostHandled ? subscriptionIds(topics) : [];
  const topicNames =
    setting === 'fan-out' ? ['t0'] : Array.from({ length: topics }, (_, index) => `t${index}`);
  const topicOf = ({ i }: Payload): string => topicNames[i % topicNames.length] ?? 't0';
  let publisher: Publisher | WebhookEndpoints | undefined;
  const openPublisher = (): Promise<Publisher | WebhookEndpoints> => {
    if (setting === 'webhooks') return WebhookEndpoints.open(url, 0);
    return setting === 'webhooks that hang'
      ? WebhookEndpoints.open(url, hangingEndpoints)
      : Publisher.open(url);
  };

  return {
    setup: async () => {
      const { webhooks, layout } = options.queue;
      const queue = await openQueue(url, [], { worker: false, webhooks, layout });
      await queue.close();
    },
    producer: async (connections) => {
      const queue = await openQueue(url, [], { worker: false, poolSize: connections });
      const { client } = queue;
      return {
        one: (payload, topic = topicOf(payload)) => client.insertTask({ topic, payload }),
        many: (payloads, topic) =>
          client.insertTasks(payloads.map((payload) => ({ topic: topic ?? topicOf(payload), payload }))),
        within: (tx, payload) => client.insertTask({ topic: topicOf(payload), payload }, { tx }),
        close: () => queue.close(),
      };
    },
    work: async (kind, started) => {
      const handling = {
        url,
        kind,
        topics: topicNames,
        subscriptions,
        options: options.handler ?? {},
        started,
      };
      const handlers =
        options.enhancement === undefined
          ? makeHandlers(handling)
          : enhancedHandlers[options.enhancement]('t0', handling.options, started);
      const { worker } = await openQueue(url, [handlers], options.queue);
      await worker.start();
    },
    isDone: () => isDone(url),
    subscribe: async (count) => {
      publisher ??= await openPublisher();
      await publisher.subscribe(count);
    },
    publish: async () => publisher?.publish(),
    views: () => measureViews(url),
    purge: async () => {
      const queue = await openQueue(url, [], { worker: false, purgeRoundLimit: 10_000 });
      const deleted = await queue.admin.purge();
      await queue.close();
      return deleted;
    },
  };
};

export default open;
