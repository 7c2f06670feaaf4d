import type { Subscription } from '../task.js';

/** A subscription as it is stored. */
export interface SubscriptionRecord extends Subscription {
  /** False: publications of its topic make no delivery for it. */
  readonly active: boolean;
  readonly createdAt: Date | null;
}

/** What is written of a subscription. */
export type SubscriptionValues = Omit<SubscriptionRecord, 'createdAt'>;

/** A subscription that code handles. */
export interface DeclaredSubscription {
  readonly id: string;
  /** Undefined where the code does not say: then its row is not made here. */
  readonly topic: string | undefined;
}

/** The stored row of a subscription that code handles. */
export interface SubscriptionRow {
  readonly id: string;
  readonly topic: string;
  /** True when this call made it. */
  readonly made: boolean;
}

/** The table of subscriptions. Methods reject with `SUBSCRIPTIONS_UNAVAILABLE` where the queue has none. */
export interface SubscriptionStore {
  /** Lists all subscriptions, or those of a topic, by id. */
  list(topic?: string): Promise<readonly SubscriptionRecord[]>;
  /** Reads one subscription; undefined when there is none. */
  find(id: string): Promise<SubscriptionRecord | undefined>;
  /** Adds a subscription; undefined when the id is taken, and nothing is changed. */
  add(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined>;
  /** Writes all values of a subscription; undefined when there is none. */
  change(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined>;
  /** Deletes a subscription; false when there was none. */
  remove(id: string): Promise<boolean>;
  /**
   * Makes the missing rows of subscriptions that have a topic; returns the row of each subscription that has one. An existing
   * row keeps its values. Undefined for a role that may not read the rows, when none has to be made.
   */
  declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[] | undefined>;
}
