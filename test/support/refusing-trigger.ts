import type { Pool } from 'pg';
import { onPostgres } from './run-database.js';

/** Which rows of `tasks` a trigger refuses. */
export interface Refusal {
  readonly when: 'before insert' | 'before update';
  /** SQL of `new`, in words of every database. */
  readonly condition: string;
  readonly message: string;
}

/** Refuses rows of `tasks`, until {@link acceptRows}. */
export async function refuseRows(pool: Pool, { when, condition, message }: Refusal): Promise<void> {
  await pool.query(
    onPostgres
      ? `create function refuse() returns trigger language plpgsql as $$ begin raise exception '${message}'; end $$;
         create trigger refuse ${when} on tasks for each row when (${condition}) execute function refuse()`
      : `create trigger refuse ${when} on tasks for each row
         begin if ${condition} then signal sqlstate '45000' set message_text = '${message}'; end if; end`,
  );
}

/** Takes that trigger away, if there is one. */
export async function acceptRows(pool: Pool): Promise<void> {
  await pool.query(onPostgres ? 'drop function if exists refuse cascade' : 'drop trigger if exists refuse');
}
