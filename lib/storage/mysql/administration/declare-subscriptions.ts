import { TarefaError } from '../../../errors.js';
import type { DeclaredSubscription, SubscriptionRow } from '../../subscriptions.js';
import { inTransaction, type Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { isRefusal } from '../schema/refusals.js';
import { declaredSubscriptions, declareSubscription } from '../statements/subscriptions.js';
import { rowsOf } from './answered.js';
import { isTaken } from './taken.js';

/**
 * Makes the rows that are missing of subscriptions that code declares with a topic, and answers those of all; undefined for
 * a user who may not read them, when none has to be made.
 *
 * @throws {TarefaError} `SUBSCRIPTIONS_UNAVAILABLE` when a topic is declared and the queue has no subscriptions,
 * `RIGHTS_MISSING` when this user may not make a row that is missing
 */
export async function declareSubscriptions(
  run: Run,
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
  const present = await readRows(run, subscriptions, declared).catch((error: unknown) => {
    if (!first && isRefusal(error)) return undefined;
    return explain(error, run, subscriptions, declared);
  });
  if (!present) return undefined;
  const known = new Set(present.map(({ id }) => id));
  const missing = declared.filter(({ id, topic }) => topic !== undefined && !known.has(id));
  if (missing.length === 0) return present.map((row) => ({ ...row, made: false }));
  // A publication that is delivered meanwhile reaches all of them or, so that they are waited for, none.
  const made = await inTransaction(run, () => insertRows(run, subscriptions, missing)).catch(
    (error: unknown) => explain(error, run, subscriptions, missing),
  );
  // Another process may have made some of them first.
  const rows = await readRows(run, subscriptions, declared);
  return rows.map((row) => ({ ...row, made: made.has(row.id) }));
}

async function readRows(
  run: Run,
  subscriptions: string,
  declared: readonly DeclaredSubscription[],
): Promise<readonly Omit<SubscriptionRow, 'made'>[]> {
  const ids = JSON.stringify(declared.map(({ id }) => id));
  const rows = await rowsOf(run, declaredSubscriptions(subscriptions), [ids]);
  return rows.map((row) => ({ id: String(row['id']), topic: String(row['processo']) }));
}

/** One by one: the answer to several does not say which of them were there. */
async function insertRows(
  run: Run,
  subscriptions: string,
  missing: readonly DeclaredSubscription[],
): Promise<ReadonlySet<string>> {
  const made = new Set<string>();
  for (const { id, topic } of missing) {
    try {
      await run(declareSubscription(subscriptions), [id, topic]);
      made.add(id);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return made;
}

/** A user without these rights may still handle what others declare. */
async function explain(
  error: unknown,
  run: Run,
  subscriptions: string,
  missing: readonly DeclaredSubscription[],
): Promise<never> {
  if (!isRefusal(error)) throw error;
  const [row] = await rowsOf(run, 'select current_user() as name');
  const user = String(row?.['name'])
    .split('@')
    .map((part) => `'${part}'`)
    .join('@');
  const names = missing
    .flatMap(({ id, topic }) => (topic === undefined ? [] : [`'${id}' (topic '${topic}')`]))
    .join(', ');
  throw new TarefaError(
    'RIGHTS_MISSING',
    `the user ${user} may not read and insert the rows of subscriptions declared with a topic: ${names}. Run ` +
      `\`grant select, insert on ${subscriptions} to ${user};\`, or insert the rows as a user who may`,
    { cause: error },
  );
}
