import type { TaskRecord } from '../task.js';
import type { WorkerId } from './attempt.js';
import type { SqlHandle } from './sql-handle.js';

/** What makes a task a delivery of a publication. */
export interface DeliveryParts {
  readonly subscriptionId: string;
  /** Payload text: the publication's and the subscription. */
  readonly envelope: string;
}

/** What tests ask of a queue's database besides its parts. */
export interface TestAccess {
  /** Reads first attempts of what was inserted, oldest first; deliveries and dead tasks were made by the queue. */
  inserted(tx: SqlHandle | undefined): Promise<readonly TaskRecord[]>;
  /** Reads all attempts of the task that an attempt belongs to, oldest first. */
  attempts(id: string): Promise<readonly TaskRecord[]>;
  /** Makes an attempt that waits the worker's, as a claim does; as a delivery, when parts are given. */
  hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void>;
  /** Reads the row of a subscription as deliveries carry it; undefined when there is none. */
  subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Moves time forward for everything in the queue. */
  travel(ms: number): Promise<void>;
  /** Deletes all tasks. */
  clear(): Promise<void>;
}
