import type { Provider } from '@nestjs/common';
import type { UniqueTask } from '../../lib/index.js';
import type { Adapter, HandlerKind, OpenAdapter, Payload, Surroundings } from '../protocol.js';
import { makeHandlers } from './handlers.js';
import { isDone } from './is-done.js';
import { isolationFor } from './isolation.js';
import { mostHandled, Publisher, subscriptionIds } from './publisher.js';
import { bellAt } from './bell.js';
import { openQueue } from './queue.js';
import { settings, type Setting } from './settings.js';

const hangingEndpoints = 10;

/** Publishes, to subscriptions or to webhooks. */
interface Publishes {
  subscribe(count: number): Promise<void>;
  publish(times: number): Promise<void>;
}

/** This library, used as its documentation says. */
const open: OpenAdapter = (surroundings): Adapter => {
  const { database: url, setting, topics } = surroundings;
  const bell = bellAt(surroundings.bell);
  const options = settings[setting];
  if (options === undefined) throw new Error(`tarefa has no setting ${setting}`);
  const topicOf = ({ i }: Payload): string => `t${i % topics}`;
  let keys = 0;
  const unique = (): UniqueTask | undefined => {
    if (!options.uniqueKeys) return undefined;
    keys += 1;
    return { key: `${process.pid} ${keys}`, onConflict: 'return' };
  };
  let publisher: Publishes | undefined;

  return {
    setup: async () => {
      const { webhooks, layout } = options.queue;
      const queue = await openQueue(url, [], { worker: false, webhooks, layout });
      await queue.close();
    },
    producer: async (connections) => {
      const queue = await openQueue(url, [], { worker: false, poolSize: connections, bell });
      const { client } = queue;
      return {
        one: (payload, topic = topicOf(payload)) => client.insertTask({ topic, payload, unique: unique() }),
        many: (payloads, topic) =>
          client.insertTasks(
            payloads.map((payload) => ({ topic: topic ?? topicOf(payload), payload, unique: unique() })),
          ),
        within: (tx, payload) => client.insertTask({ topic: topicOf(payload), payload }, { tx }),
        close: () => queue.close(),
      };
    },
    work: async (kind, started, children) => {
      const handlers = await handlersFor(surroundings, options, kind, started);
      const isolation = options.handler?.isolate && isolationFor({ url, setting, kind }, children);
      const { worker, events } = await openQueue(url, [handlers], { ...options.queue, bell, isolation });
      // What runs elsewhere cannot tell this process that it has started.
      if (isolation) events.on('task.completed', () => started({ i: 0, s: '' }));
      await worker.start();
    },
    isDone: () => isDone(url),
    subscribe: async (count) => {
      publisher ??= await openPublisher(url, setting);
      await publisher.subscribe(count);
    },
    publish: async (times) => publisher?.publish(times),
    views: async () => (await import('./views.js')).measureViews(url),
    purge: async () => {
      const queue = await openQueue(url, [], { worker: false, purgeRoundLimit: 10_000 });
      const deleted = await queue.admin.purge();
      await queue.close();
      return deleted;
    },
  };
};

export default open;

async function handlersFor(
  { database: url, setting, topics: count }: Surroundings,
  { enhancement, everyTopic, handler = {}, writers = 10 }: Setting,
  kind: HandlerKind,
  started: (payload: Payload) => void,
): Promise<Provider> {
  if (enhancement !== undefined) {
    // What only some runs need is loaded by those: it would count as memory of the others.
    const { enhancedHandlers } = await import('./enhanced-handlers.js');
    return enhancedHandlers[enhancement]('t0', handler, started);
  }
  const fansOut = setting === 'fan-out';
  const topics = fansOut ? ['t0'] : Array.from({ length: count }, (_, index) => `t${index}`);
  const subscriptions = fansOut && count <= mostHandled ? subscriptionIds(count) : [];
  return makeHandlers({
    ...{ url, kind, subscriptions, writers, started },
    topics: everyTopic ? 'every' : topics,
    options: handler,
  });
}

async function openPublisher(url: string, setting: string): Promise<Publishes> {
  if (!setting.startsWith('webhooks')) return Publisher.open(url);
  const { WebhookEndpoints } = await import('./webhook-endpoints.js');
  return WebhookEndpoints.open(url, setting === 'webhooks that hang' ? hangingEndpoints : 0);
}
