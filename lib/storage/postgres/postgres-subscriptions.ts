import type { DeclaredSubscription, SubscriptionRow, SubscriptionStore } from '../subscriptions.js';
import { declareSubscriptions } from './declare-subscriptions.js';
import { rethrowConnectionError, type QueueAccess } from './queue-access.js';

/** {@link SubscriptionStore} in the queue's subscriptions table. */
export class PostgresSubscriptions implements SubscriptionStore {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  async declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]> {
    const { pool, schema } = this.#access;
    return declareSubscriptions(pool, schema.tables, declared).catch(rethrowConnectionError);
  }
}
