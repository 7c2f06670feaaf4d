import type { NewTask } from './inserts.js';

/** A task and the line it was read from. */
export interface NumberedTask {
  readonly line: number;
  readonly task: NewTask;
}

/** Lines that the database refused; one, unless it could not be found among them. */
export interface Refusal {
  readonly first: number;
  readonly last: number;
  readonly message: string;
}

/** Inserts many tasks in transactions of its own: one transaction until it is told to commit. For one caller at a time. */
export interface TaskImportTransactions {
  /** Inserts tasks and answers their ids. After a refusal the transaction is rolled back. */
  insert(tasks: readonly NumberedTask[]): Promise<readonly string[] | Refusal>;
  /** Commits. Rejects with `CONNECTION_LOST` when its end is unknown. */
  commit(): Promise<void>;
  /** Undoes what is not committed. */
  rollback(): Promise<void>;
  /** Gives the connection back. What is not committed is undone. */
  close(): Promise<void>;
}
