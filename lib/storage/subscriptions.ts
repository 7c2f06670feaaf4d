/** A subscription that code handles. */
export interface DeclaredSubscription {
  readonly id: string;
  /** Undefined where the code does not say: its row is made by somebody else. */
  readonly topic: string | undefined;
}

/** What stands in the table of a subscription that code handles. */
export interface SubscriptionRow {
  readonly id: string;
  readonly topic: string;
  /** True when it was made now. */
  readonly made: boolean;
}

/** The table of subscriptions. */
export interface SubscriptionStore {
  /**
   * Makes the rows that are missing of subscriptions that have a topic; answers the row of each subscription that has
   * one. An existing row keeps its values.
   */
  declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]>;
}
