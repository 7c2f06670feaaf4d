import { createHash } from 'node:crypto';

/**
 * An id for the header `webhook-id`: the same for the same parts, without a dot, and telling nothing about them. Made
 * from a task's `key`, it is the same over all attempts of a delivery and never another delivery's, also when a
 * failover hands out ids of the table again.
 *
 * @example webhookId(task.key)
 */
export function webhookId(...parts: readonly [string, ...string[]]): string {
  return `msg_${createHash('sha256')
    .update(JSON.stringify(['webhook', ...parts]))
    .digest('hex')
    .slice(0, 32)}`;
}
