import type { SqlHandle } from '../../sql-handle.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { assignRounds, type RoundRow } from './assign-rounds.js';

/** Duplicate attempts of one kind. */
export interface Duplicates {
  readonly kind: 'successors' | 'dead-chains' | 'deliveries';
  /** How many there are beyond the first of each. */
  readonly count: number;
  /** A few of the duplicated attempts, for people. */
  readonly examples: readonly string[];
}

/** Tasks whose duplicates are told apart by one transaction. */
const groupsAtOnce = 2_000;
const rowsAtOnce = 1_000;

/** The three unique indexes: which rows are in them, and by which key. */
const kinds = [
  {
    kind: 'successors',
    keys: ['id_anterior'],
    where: 'id_anterior is not null',
    example: `'attempt ' || id_anterior`,
  },
  {
    kind: 'dead-chains',
    keys: ['live_id'],
    where: 'dead and id_anterior is null and live_id is not null',
    example: `'task ' || live_id`,
  },
  {
    kind: 'deliveries',
    keys: ['publication_id', 'subscriber_id', 'dead', 'tentativa', 'coalesce(live_id, 0)'],
    where: 'publication_id is not null and subscriber_id is not null and tentativa is not null',
    example: `'publication ' || publication_id || ' to ' || subscriber_id`,
  },
] as const;

/** @param hasRounds false as long as the table has no column for them */
export async function findDuplicates(
  sql: SqlHandle,
  queue: string,
  hasRounds: boolean,
): Promise<readonly Duplicates[]> {
  const found: Duplicates[] = [];
  for (const { kind, keys, where, example } of kinds) {
    const { rows } = await sql.query(
      `select coalesce(sum(copies - 1), 0)::float8 as count, (array_agg(example order by example))[1:5] as examples
       from (
         select count(*) as copies, min(${example}) as example from ${queue}
         where ${where} group by ${[...keys, ...(hasRounds ? ['rodada'] : [])].join(', ')} having count(*) > 1
       ) d`,
    );
    const count = Number(rows[0]?.['count'] ?? 0);
    if (count > 0) found.push({ kind, count, examples: (rows[0]?.['examples'] ?? []) as string[] });
  }
  return found;
}

/** Gives duplicates rounds of their own until none are left. Returns how many attempts got one. */
export async function tellApart(session: SchemaSession, queue: string): Promise<number> {
  let marked = 0;
  while ((await findDuplicates(session, queue, true)).length > 0) {
    const groups = await readGroups(session, queue);
    const byTask = groups.flatMap((rows) => [...assignRounds(rows)]);
    // Attempts that say they follow from an attempt of another task are compared with that task's.
    const rounds = byTask.length > 0 ? byTask : [...assignRounds(groups.flat())];
    if (rounds.length === 0) throw new Error(`copies in ${queue} cannot be told apart`);
    for (let from = 0; from < rounds.length; from += rowsAtOnce) {
      const some = rounds.slice(from, from + rowsAtOnce);
      await session.short('telling copies apart', queue, (tx) =>
        tx.query(
          `update ${queue} f set rodada = r.round
           from unnest($1::bigint[], $2::int[]) r (id, round) where f.id = r.id`,
          [some.map(([id]) => id), some.map(([, round]) => round)],
        ),
      );
    }
    marked += rounds.length;
  }
  return marked;
}

/** All attempts of tasks with duplicates, by task; deliveries by publication and subscription. */
async function readGroups(session: SchemaSession, queue: string): Promise<readonly RoundRow[][]> {
  const task = (row: string): string => `coalesce(${row}.live_id, ${row}.id_inicial, ${row}.id)`;
  const copies = kinds.map(
    ({ keys, where }) => `
      select ${keys.join(', ')} from ${queue} where ${where} group by ${[...keys, 'rodada'].join(', ')} having count(*) > 1`,
  );
  const { rows } = await session.query(
    `with copied as materialized (
       select f.id from (${copies[0]}) c join ${queue} f on f.id_anterior = c.id_anterior
       union
       select f.id from (${copies[1]}) c join ${queue} f on f.live_id = c.live_id and f.dead and f.id_anterior is null
       union
       select f.id from (${copies[2]}) c
       join ${queue} f on f.publication_id = c.publication_id and f.subscriber_id = c.subscriber_id
     ),
     groups as materialized (
       select distinct case when f.publication_id is null then ${task('f')} end as task,
         f.publication_id, case when f.publication_id is not null then f.subscriber_id end as subscriber_id
       from copied join ${queue} f on f.id = copied.id
       limit ${groupsAtOnce}
     )
     select ${fields}, 't' || g.task as "group"
     from groups g join ${queue} f on ${task('f')} = g.task and f.publication_id is null
     union all
     select ${fields}, 'd' || g.publication_id || ' ' || coalesce(g.subscriber_id, '')
     from groups g join ${queue} f on f.publication_id = g.publication_id and f.subscriber_id is not distinct from g.subscriber_id`,
  );
  const groups = new Map<string, RoundRow[]>();
  for (const row of rows) {
    const key = String(row['group']);
    const group = groups.get(key) ?? [];
    group.push(readRow(row));
    groups.set(key, group);
  }
  return [...groups.values()];
}

const fields = `f.id::text as id, f.id_anterior::text as previous, f.id_inicial::text as first, f.dead, f.live_id::text as live,
  f.publication_id::text as publication, f.subscriber_id::text as subscription, f.tentativa as attempt,
  coalesce(f.estouro_tentativas, false) as exhausted, f.rodada as round`;

function readRow(row: Record<string, unknown>): RoundRow {
  const text = (name: string): string | null => (row[name] as string | null | undefined) ?? null;
  return {
    id: String(row['id']),
    previousId: text('previous'),
    firstId: text('first'),
    dead: row['dead'] === true,
    liveId: text('live'),
    publicationId: text('publication'),
    subscriptionId: text('subscription'),
    attempt: row['attempt'] === null ? null : Number(row['attempt']),
    exhausted: row['exhausted'] === true,
    round: Number(row['round']),
  };
}
