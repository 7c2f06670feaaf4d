import type { DeclaredSubscription, SubscriptionRow, SubscriptionStore } from '../subscriptions.js';
import type { MemoryTable } from './memory-table.js';
import { needsDatabase } from './needs-database.js';

/** {@link SubscriptionStore} in memory, for subscriptions that handlers declare. */
export class MemorySubscriptions implements SubscriptionStore {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]> {
    return this.#table.declare(declared);
  }

  list = unavailable;
  find = unavailable;
  add = unavailable;
  change = unavailable;
  remove = unavailable;
}

async function unavailable(): Promise<never> {
  throw needsDatabase('the administration of subscriptions');
}
