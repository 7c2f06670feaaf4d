import { column } from '../columns.js';
import type { SubscriptionRecord } from '../subscriptions.js';
import { copyOf, firstIdOf, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';
import { subscriptionRow } from './subscription-row.js';

/**
 * Delivers a publication by one copy for every active subscription that matches, and completes it; answers how many. The
 * copy's payload holds the publication's text and the subscription as it is now.
 */
export function deliver(table: MemoryTable, publication: MemoryRow): number {
  const matching = matchingOf(table, publication);
  const text = table.payloadOf(publication);
  for (const subscription of matching) {
    table.add({
      ...copyOf(publication),
      [column.publication]: 'false',
      [column.payload]: JSON.stringify({ publication: text, subscription: subscriptionRow(subscription) }),
      [column.publicationId]: firstIdOf(publication),
      [column.subscriptionId]: subscription.id,
      rodada: '0',
    });
  }
  table.complete(publication, messageOf(matching.length), null);
  return matching.length;
}

/** True when a publication would reach some subscription. */
export function isMatched(table: MemoryTable, publication: MemoryRow): boolean {
  return matchingOf(table, publication).length > 0;
}

function matchingOf(table: MemoryTable, publication: MemoryRow): readonly SubscriptionRecord[] {
  return [...table.subscriptions.values()].filter((one) => matches(publication, one));
}

function matches(publication: MemoryRow, { active, topic, tenant, group }: SubscriptionRecord): boolean {
  return (
    active &&
    topic === publication[column.topic] &&
    (tenant === null || tenant === publication[column.tenant]) &&
    (group === null || group === publication[column.group])
  );
}

function messageOf(deliveries: number): string {
  if (deliveries === 0) return 'discarded: no active subscription matches';
  return `delivered to ${deliveries} subscription${deliveries === 1 ? '' : 's'}`;
}
