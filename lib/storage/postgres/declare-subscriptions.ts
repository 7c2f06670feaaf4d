import type { SqlHandle } from '../sql-handle.js';
import { TarefaError } from '../../errors.js';
import type { DeclaredSubscription, SubscriptionRow } from '../subscriptions.js';
import { quoteIdentifier, type QueueTables } from './identifiers.js';

/**
 * Makes the rows that are missing of subscriptions that code declares with a topic, and answers those of all; undefined for
 * a role that may not read them, when none has to be made.
 *
 * @throws {TarefaError} `SUBSCRIPTIONS_UNAVAILABLE` when a topic is declared and the queue has no subscriptions,
 * `RIGHTS_MISSING` when this role may not make a row that is missing
 */
export async function declareSubscriptions(
  handle: SqlHandle,
  { subscriptions }: Pick<QueueTables, 'subscriptions'>,
  declared: readonly DeclaredSubscription[],
): Promise<readonly SubscriptionRow[] | undefined> {
  const [first] = declared.filter(({ topic }) => topic !== undefined);
  if (subscriptions === undefined) {
    if (!first) return [];
    throw new TarefaError(
      'SUBSCRIPTIONS_UNAVAILABLE',
      `@Subscriber('${first.id}', { topic: '${first.topic}' }) needs a row, but this queue has no subscriptions: subscriptionTable is false`,
    );
  }
  const present = await readRows(handle, subscriptions, declared).catch((error: unknown) => {
    if (!first && isRefused(error)) return undefined;
    return explain(error, handle, subscriptions, declared);
  });
  if (!present) return undefined;
  const known = new Set(present.map(({ id }) => id));
  const missing = declared.filter(({ id, topic }) => topic !== undefined && !known.has(id));
  if (missing.length === 0) return present.map((row) => ({ ...row, made: false }));
  const made = await insertRows(handle, subscriptions, missing);
  // Another process may have made some of them first.
  const rows = await readRows(handle, subscriptions, declared);
  return rows.map((row) => ({ ...row, made: made.has(row.id) }));
}

async function readRows(
  handle: SqlHandle,
  subscriptions: string,
  declared: readonly DeclaredSubscription[],
): Promise<readonly Omit<SubscriptionRow, 'made'>[]> {
  const { rows } = await handle.query(
    `-- name: declared_subscriptions
select s.id, s.processo from ${subscriptions} s where s.id = any($1::text[]) order by s.id`,
    [declared.map(({ id }) => id)],
  );
  return rows.map((row) => ({ id: String(row['id']), topic: String(row['processo']) }));
}

/** In the order of their ids, so that processes that start together wait for each other instead of in a circle. */
async function insertRows(
  handle: SqlHandle,
  subscriptions: string,
  missing: readonly DeclaredSubscription[],
): Promise<ReadonlySet<string>> {
  try {
    const { rows } = await handle.query(
      `-- name: declare_subscriptions
insert into ${subscriptions} (id, processo)
select d.id, d.topic from unnest($1::text[], $2::text[]) d (id, topic) order by d.id
on conflict (id) do nothing
returning id`,
      [missing.map(({ id }) => id), missing.map(({ topic }) => topic)],
    );
    return new Set(rows.map((row) => String(row['id'])));
  } catch (error) {
    return explain(error, handle, subscriptions, missing);
  }
}

/** A role without these rights may still handle what others declare. */
async function explain(
  error: unknown,
  handle: SqlHandle,
  subscriptions: string,
  missing: readonly DeclaredSubscription[],
): Promise<never> {
  if (!isRefused(error)) throw error;
  const { rows } = await handle.query('select current_user::text as role', []);
  const role = quoteIdentifier(String(rows[0]?.['role']));
  const names = missing
    .flatMap(({ id, topic }) => (topic === undefined ? [] : [`'${id}' (topic '${topic}')`]))
    .join(', ');
  throw new TarefaError(
    'RIGHTS_MISSING',
    `the role ${role} may not read and insert the rows of subscriptions declared with a topic: ${names}. Run ` +
      `\`grant select, insert on ${subscriptions} to ${role};\`, or insert the rows as a role that may`,
    { cause: error },
  );
}

function isRefused(error: unknown): boolean {
  return (error as { code?: unknown }).code === '42501';
}
