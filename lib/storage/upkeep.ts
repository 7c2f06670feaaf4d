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

/** What went at once. */
export interface PurgedAtOnce {
  readonly rows: number;
  /** Only rows with lesser ids are to be purged one by one; undefined for all. */
  readonly before: string | undefined;
  /** Why something could not go that may. */
  readonly problem: Error | undefined;
}

/** How many rows of a topic or subscription can be purged. */
export interface PurgeableCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly rows: number;
  readonly oldest: Date | null;
}

/** Makes room ahead of inserts, and deletes history that is no longer needed. */
export interface Upkeep {
  /** Makes the storage that the next inserts need, where that is not made automatically. */
  prepareAhead(): Promise<void>;
  /** Deletes what can go without being looked at row by row: storage whose tasks are all over and old. */
  purgeAtOnce(olderThanDays: number): Promise<PurgedAtOnce>;
  /** Looks at the next rows for attempts that may be deleted: those of tasks that are over and old. */
  findPurgeable(look: PurgeLook): Promise<PurgeableWindow>;
  /** Counts those attempts by topic and subscription. */
  describe(ids: readonly string[]): Promise<readonly PurgeableCount[]>;
  /** Divides attempts by the tasks that they belong to, dead chains included. */
  families(ids: readonly string[]): Promise<readonly (readonly string[])[]>;
  /** Deletes those attempts whose whole tasks are among them and still may go; returns how many. */
  purge(ids: readonly string[]): Promise<number>;
}
