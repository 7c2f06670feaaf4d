import { TarefaError } from '../errors.js';
import { QueueWebhooks } from './queue-webhooks.js';

/** Stands where webhooks are off. Asking for it by mistake is told when it is used: it may be injected where webhooks are off in some environments. */
export function unavailableWebhooks(): QueueWebhooks {
  return new Proxy(Object.create(QueueWebhooks.prototype) as QueueWebhooks, {
    get: (target, name) => {
      if (typeof name !== 'string' || !(name in QueueWebhooks.prototype) || name === 'constructor') {
        return Reflect.get(target, name) as unknown;
      }
      return () => {
        throw new TarefaError(
          'OPTIONS_INVALID',
          `QueueWebhooks.${name} requires webhooks: true in the options of QueueModule`,
        );
      };
    },
  });
}
