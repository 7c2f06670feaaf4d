import 'reflect-metadata';
import { defaultQueueName } from '../options/part-token.js';
import { noteDecorated, type Decoration } from './decorated-classes.js';

const metadataKey = Symbol.for('nestjs-tarefa:webhooks');

/** What {@link SubscriberWebhook} leaves on a class. */
export interface DeclaredWebhook {
  readonly id: string;
  readonly queue: string | undefined;
}

/**
 * Declares on the class of any provider that a subscription is delivered as a webhook. Needed only for rows without a URL:
 * rows with one are webhooks already. A `@Subscriber` of the same id wins. QueueModule needs the option `webhooks`.
 *
 * @example
 * @SubscriberWebhook('crm')
 * @Injectable()
 * export class CrmModuleMarker {}
 */
export function SubscriberWebhook(
  id: string,
  { queue }: { readonly queue?: string | undefined } = {},
): ClassDecorator {
  return (target) => {
    Reflect.defineMetadata(metadataKey, [...readDeclaredWebhooks(target), { id, queue }], target);
    noteDecorated(target.prototype as object, { ...describeWebhook({ id, queue }), method: undefined });
  };
}

/** What the decorators left on a class. */
export function readDeclaredWebhooks(type: object): readonly DeclaredWebhook[] {
  return (Reflect.getOwnMetadata(metadataKey, type) as DeclaredWebhook[] | undefined) ?? [];
}

/** What stands on the class, as users write it, and the queue that it is for. */
export function describeWebhook({
  id,
  queue = defaultQueueName,
}: DeclaredWebhook): Pick<Decoration, 'decorator' | 'queue'> {
  return { decorator: `@SubscriberWebhook('${id}')`, queue };
}
