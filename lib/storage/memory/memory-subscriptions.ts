import type {
  DeclaredSubscription,
  SubscriptionRecord,
  SubscriptionRow,
  SubscriptionStore,
  SubscriptionValues,
} from '../subscriptions.js';
import type { MemoryTable } from './memory-table.js';

/** {@link SubscriptionStore} in memory. */
export class MemorySubscriptions implements SubscriptionStore {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async list(topic?: string): Promise<readonly SubscriptionRecord[]> {
    return [...this.#table.subscriptions.values()]
      .filter((one) => topic === undefined || one.topic === topic)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    return this.#table.subscriptions.get(id);
  }

  async add(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    return this.#table.subscriptions.has(subscription.id) ? undefined : this.#add(subscription);
  }

  async change(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    const { subscriptions } = this.#table;
    const before = subscriptions.get(subscription.id);
    if (!before) return undefined;
    const changed = { ...before, ...subscription };
    subscriptions.set(subscription.id, changed);
    return changed;
  }

  async remove(id: string): Promise<boolean> {
    return this.#table.subscriptions.delete(id);
  }

  async declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]> {
    return declared.flatMap(({ id, topic }): readonly SubscriptionRow[] => {
      const before = this.#table.subscriptions.get(id);
      if (before) return [{ id, topic: before.topic, made: false }];
      if (topic === undefined) return [];
      this.#add({ id, topic, ...unset });
      return [{ id, topic, made: true }];
    });
  }

  #add(subscription: SubscriptionValues): SubscriptionRecord {
    const added = { ...subscription, createdAt: new Date(this.#table.nowMs) };
    this.#table.subscriptions.set(added.id, added);
    return added;
  }
}

/** What a declared subscription has. */
const unset = {
  tenant: null,
  group: null,
  url: null,
  httpMethod: null,
  headers: null,
  active: true,
} as const;
