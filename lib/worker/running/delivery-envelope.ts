import { parseExactly } from '../../values/json-numbers.js';
import type { Subscription, Task } from '../../task.js';

/**
 * Reads the envelope of a delivery. The row says which subscription it is for, not the envelope.
 *
 * @throws {Error} when there is none
 */
export function readDelivery(
  stored: string | null,
  task: Task,
): { readonly publication: string | null; readonly subscription: Subscription } {
  const { publication, subscription } = readEnvelope(stored, task);
  return { publication, subscription: readSubscription(subscription, task) };
}

interface Envelope {
  readonly publication: string | null;
  readonly subscription: Readonly<Record<string, unknown>>;
}

function readEnvelope(stored: string | null, task: Task): Envelope {
  try {
    const envelope = JSON.parse(stored ?? '') as Partial<Envelope> | null;
    const { publication = null, subscription } = envelope ?? {};
    const isText = publication === null || typeof publication === 'string';
    if (isText && typeof subscription === 'object' && subscription !== null)
      return { publication, subscription: withAllDigits(subscription, stored ?? '') };
  } catch {
    // The message below says what to do.
  }
  throw new Error(
    `the payload of delivery ${task.id} is not an envelope {"publication", "subscription"}: ` +
      `rows with a subscriber_id are created by publications, insert a publication instead`,
  );
}

/** Headers may be numbers, such as that of an account, which JavaScript would round. */
function withAllDigits(subscription: Envelope['subscription'], stored: string): Envelope['subscription'] {
  const { headers } = subscription;
  if (typeof headers !== 'object' || headers === null) return subscription;
  const isNumber = (one: unknown): boolean => typeof one === 'number';
  return Object.values(headers).some(isNumber)
    ? (parseExactly(stored) as Envelope).subscription
    : subscription;
}

function readSubscription(row: Readonly<Record<string, unknown>>, task: Task): Subscription {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null);
  return {
    id: task.subscriptionId ?? '',
    topic: text('processo') ?? task.topic ?? '',
    // Either unset or the publication's own, which JSON numbers cannot hold beyond 2^53.
    tenant: row['tenant'] == null ? null : task.tenant,
    group: text('grupo_empresarial'),
    url: text('url'),
    httpMethod: text('http_method'),
    headers: (row['headers'] as Subscription['headers'] | undefined) ?? null,
  };
}
