import type { TaskContext } from '../../lib/index.js';
import { ownSql } from './run-database.js';

/** What handlers of the tests do in their transaction: one row in the table of `createEffectTable`. */
export async function leaveEffect({ db, task }: TaskContext): Promise<void> {
  await db.query(ownSql('insert into effect (task_root, attempt) values ($1, $2)'), [
    task.firstAttemptId,
    task.attempt,
  ]);
}
