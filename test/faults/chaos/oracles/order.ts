import { violation, violationOf, type Oracle } from './oracle.js';

interface Claimed {
  readonly id: string;
  readonly key: string;
  readonly priority: number;
  /** When it was due, and when it was claimed for the first time: real time in ms. */
  readonly due: number;
  readonly at: number;
  readonly losses: number;
  readonly first: boolean;
  readonly route: string;
  readonly executor: string | null;
}

/** A claim has locked its rows before it writes down when it took them: claims at the same time leave those out. */
const claimMs = 1_000;

/** After a lock on rows is gone, a worker that found them locked looks again within so many ms. */
const afterLockMs = 3_000;

/**
 * I8 with many workers: no worker goes on claiming for longer than `patienceMs` while something strictly better (higher
 * priority, or the same and due earlier by more than that time) has been visible and due for so long. For shorter it may:
 * another worker's claim has locked the better task, and gives it back when it fails; a sweep or the next poll finds it.
 * What was visible since when is known of acknowledged first attempts. Left out are attempts that run alone because
 * workers were lost with them, and the time around locks that somebody else holds on rows, or around a clock that was set.
 */
export const betterFirst =
  (patienceMs: number): Oracle =>
  async ({ db, history }) => {
    const { rows } = await db.query<Claimed>(
      `select f.id::text, f.origem as key, f.prioridade as priority, f.perdas as losses, a.executor,
         case when f.pub_sub and not f.dead then 'p' else coalesce('s:' || f.subscriber_id, f.processo) end as route,
         f.id_anterior is null and f.publication_id is null and not f.dead as first,
         extract(epoch from f.data_hora)::float8 * 1000 as due, extract(epoch from a.at)::float8 * 1000 as at
       from every_row f
       join lateral (
         select a.at, a.new_executor::text as executor from audit a
         where a.id = f.id and a.new_status = 'processando' order by a.n limit 1
       ) a on true
       order by a.at`,
    );
    const isNearLock = (at: number): boolean =>
      [...history.locks, ...history.clocks].some(({ from, to }) => from <= at && at <= to + afterLockMs);
    const unjust: object[] = [];
    for (const better of rows) {
      const acked = history.acked.get(better.key);
      if (!better.first || !acked) continue;
      const from = Math.max(acked.wall, better.due) + patienceMs;
      const passedOverSince = new Map<string | null, number>();
      for (let index = firstAfter(rows, from); index < rows.length; index += 1) {
        const worse = rows[index];
        if (!worse || worse.at >= better.at - claimMs) break;
        if (worse.losses >= 2 || !isBetter(better, worse, patienceMs) || isNearLock(worse.at)) continue;
        const since = passedOverSince.get(worse.executor) ?? worse.at;
        passedOverSince.set(worse.executor, since);
        const forMs = Math.round(worse.at - since);
        if (forMs > patienceMs) unjust.push({ better, worse, passedOverForMs: forMs });
      }
    }
    return violation(
      'I8',
      'a worker went on with something worse while a better task had been waiting',
      unjust,
    );
  };

/** I8 with one worker, one task at a time and nothing inserted meanwhile: exactly the order of pick-up. */
export const strictOrder =
  (origin: string): Oracle =>
  (evidence) =>
    violationOf(
      evidence,
      'I8',
      'a single worker did not take its tasks in order',
      `select * from (
         select f.id::text, f.prioridade, f.data_hora, row_number() over (order by a.at, a.n) as taken,
           row_number() over (order by f.prioridade desc, f.data_hora, f.id) as rank
         from every_row f
         join lateral (select at, n from audit a where a.id = f.id and a.new_status = 'processando' order by n limit 1) a on true
         where f.origem like $1 || '%'
       ) o where taken <> rank`,
      [origin],
    );

function isBetter(one: Claimed, other: Claimed, patienceMs: number): boolean {
  return one.priority === other.priority ? one.due < other.due - patienceMs : one.priority > other.priority;
}

/** Index of the first claim after that time, of claims in the order of time. */
function firstAfter(claims: readonly Claimed[], time: number): number {
  let low = 0;
  let high = claims.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((claims[middle]?.at ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
