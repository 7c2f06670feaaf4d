import type { QueueClient } from '../client/queue-client.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { WorkerId } from '../storage/attempt.js';
import type { TaskRecord } from '../task.js';

/** What makes a task a delivery of a publication. */
export interface DeliveryParts {
  readonly subscriptionId: string;
  /** Payload text: the publication's and the subscription. */
  readonly envelope: string;
}

/** What a tester asks of the queue beside what a worker does: one sentence per method. */
export interface TesterStore {
  /** Inserts outside of every transaction, whatever surrounds the test. */
  readonly client: QueueClient;
  /** First attempts of what was inserted, oldest first; deliveries and dead tasks were made by the queue. */
  inserted(tx: SqlHandle | undefined): Promise<readonly TaskRecord[]>;
  /** All attempts of the task that an attempt belongs to, oldest first. */
  attempts(id: string): Promise<readonly TaskRecord[]>;
  /** Makes an attempt that waits the worker's, as a claim does; as a delivery, when parts are given. */
  hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void>;
  /** The row of a subscription as deliveries carry it; undefined when there is none. */
  subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Adds a subscription, unless it is there. */
  subscribe(topic: string, subscriptionId: string): Promise<void>;
  /** Moves time forward for everything in the queue. */
  travel(ms: number): Promise<void>;
  /** Deletes all tasks. */
  clear(): Promise<void>;
}
