/** Where a purge looks. */
export interface PurgeLook {
  /** Only tasks of which all attempts were due longer ago than that. */
  readonly olderThanDays: number;
  /** Only at rows with greater ids; undefined for all. */
  readonly after: string | undefined;
  /** Only at rows with lesser ids. Default: all. */
  readonly before?: string | undefined;
  /** At most at this many rows. */
  readonly rows: number;
  /** Rows of a full block; a task is never divided, so a block may have more. */
  readonly blockRows: number;
}

/** What a purge has seen. */
export interface PurgeableWindow {
  /** Ids of attempts to be deleted together, the oldest first; with a task's attempts in the window come its others. */
  readonly blocks: readonly (readonly string[])[];
  /** The last row that was looked at; undefined when there was none. */
  readonly last: string | undefined;
  /** The first that is not to be deleted. */
  readonly keptFrom: string | undefined;
  /** False when there are no more rows, or all that were looked at are too young. */
  readonly goesOn: boolean;
}

/** What went with whole partitions. */
export interface PartitionPurge {
  readonly rows: number;
  /** Only rows with lesser ids are to be purged one by one; undefined for all. */
  readonly before: string | undefined;
  /** Why a partition could not be dropped that could have been. */
  readonly problem: Error | undefined;
}

/** How many rows of a topic or subscription can be purged. */
export interface PurgeableCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly rows: number;
  readonly oldest: Date | null;
}

/** Makes room ahead of inserts, and deletes history that nobody needs any more. */
export interface Upkeep {
  /** Makes the partitions that are needed next, where the queue has some. */
  prepareAhead(): Promise<void>;
  /** Drops partitions of which all tasks may be deleted, where the queue has some. */
  dropPartitions(olderThanDays: number): Promise<PartitionPurge>;
  /** Looks at the next rows for attempts that may be deleted: those of tasks that are over and old. */
  findPurgeable(look: PurgeLook): Promise<PurgeableWindow>;
  /** Counts those attempts by topic and subscription. */
  describe(ids: readonly string[]): Promise<readonly PurgeableCount[]>;
  /** Deletes those attempts whose whole tasks are among them and still may go; returns how many. */
  purge(ids: readonly string[]): Promise<number>;
}
