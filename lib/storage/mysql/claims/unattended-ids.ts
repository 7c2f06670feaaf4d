import type { Route } from '../../attempt.js';
import type { MysqlAccess } from '../mysql-access.js';
import type { LeftOut } from '../statements/apart.js';
import { seeUnattended } from '../statements/unattended.js';
import { handledDead } from '../statements/waiting.js';

/** Ids of dead attempts for the default treatment, the oldest first. */
export async function unattendedIds(
  access: MysqlAccess,
  leftOut: LeftOut,
  limit: number,
): Promise<readonly string[]> {
  const handled = await readHandledDead(access);
  const { text, values } = seeUnattended(access.tables, leftOut, handled, limit);
  return (await access.ask(text, values)).map(({ id }) => String(id));
}

/** Routes whose dead attempts running workers handle. */
export async function readHandledDead(access: MysqlAccess): Promise<readonly Route[]> {
  const workers = await access.ask(handledDead(access.tables));
  return [...new Set(workers.flatMap((row) => JSON.parse(row['routes'] ?? '[]') as Route[]))];
}
