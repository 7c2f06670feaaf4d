import { routeExpression } from '../statement.js';

// Statements that claim are made of two parts: where they look, and how they choose. Parameters before $6 are those of
// `settling`; $6 routes, $7 limits, $8 limit of all, $9 whether only dead attempts or only others (null: both).

/** Where a claim looks. */
export interface Look {
  /** SQL of the stretches: one row `r` per stretch with its route, its limit `most` and its place `ord`. */
  readonly stretches: string;
  /** The best pending rows of one stretch. */
  readonly bestOf: (limit: string, locking: string) => string;
  /** Rows of all stretches, at most its limit for each route. */
  readonly candidates: (locking: string) => string;
  /**
   * Rows of all stretches without locks, `depth` of each at most, with their places `nth`; null where stretches are looked
   * through as far as their limits go.
   */
  readonly peeked: (depth: string) => string;
  /** Condition on the claimed rows `f`, which leaves out partitions that none of them is in. */
  readonly within: string;
}

/** How a claim chooses among the rows that it sees. */
export interface Shape {
  /** Parts of the statement, the last of which is `best`: the rows that it has locked and takes. */
  readonly choosing: string;
  /**
   * What the answer says besides: `locked_routes`, places of the stretches that gave less than they were seen to have (null
   * when every one gave it), `more_routes`, places of those that were seen to have more, or `contended`, true when several
   * routes had work.
   */
  readonly answer: string;
  /** Condition under which it has seen all that it could have taken. */
  readonly nothingLeft: string;
}

const pickUpOrder = (row: string): string => `${row}.prioridade desc, ${row}.data_hora, ${row}.id`;

const isPending = `f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now() and (r.dead is null or f.dead = r.dead)`;

/**
 * Claims refer to `settled`, so that settling always runs first: unordered, eight claimers over ten routes deadlocked 17
 * times in 6 runs.
 */
const afterSettling = 'r.most + 0 * settled.n';

const locked = `
    for no key update skip locked`;

/**
 * Each route from the front of its index. Dead entries of what was claimed are walked over, which is cheap while vacuum
 * can remove them.
 *
 * @param except SQL of what is left out
 */
export function fromTheFront(queue: string, except: string): Look {
  const stretches = `unnest($6::text[], $7::int[], $9::boolean[]) with ordinality r (route, most, dead, ord)`;
  const bestOf: Look['bestOf'] = (limit, locking) => `
    select f.id, f.prioridade, f.data_hora
    from ${queue} f
    where ${isPending}${except}
    order by ${pickUpOrder('f')}
    limit ${limit}${locking}`;
  const candidates: Look['candidates'] = (locking) => `
  select l.id, l.prioridade, l.data_hora, r.route, r.ord
  from settled, ${stretches}
  cross join lateral (${bestOf(afterSettling, locking)}
  ) l`;
  return { stretches, bestOf, candidates, peeked: (depth) => peekedTo(depth, stretches, bestOf), within: '' };
}

const boundedStretches = `unnest($6::text[], $7::int[], $9::boolean[], $10::int[], $11::int[], $12::timestamptz[]) with ordinality
      r (route, most, dead, highest, lowest, since, ord)`;

/** Every partition with lesser ids is left out before the statement begins. */
const aboveFloor = ` and f.id >= $13::bigint`;

/**
 * Each route from the time up to which it was claimed before: behind 100,000 dead entries a claim of ten takes 1 ms from
 * there, and 10 ms from the front. A route may have several stretches of priorities, each of which gives up to its limit.
 *
 * Parameters after $9: the highest and the lowest priority of each stretch, and the time it starts at; the least id that is
 * looked at.
 *
 * @param except SQL of what is left out
 */
export function fromPositions(queue: string, except: string): Look {
  const stretches = boundedStretches;
  const bestOf: Look['bestOf'] = (limit, locking) => `
    select f.id, f.prioridade, f.data_hora
    from ${queue} f
    where ${isPending} and f.prioridade <= r.highest and f.prioridade >= r.lowest and f.data_hora >= r.since${aboveFloor}${except}
    order by ${pickUpOrder('f')}
    limit ${limit}${locking}`;
  const candidates: Look['candidates'] = (locking) => `
  select l.id, l.prioridade, l.data_hora, r.route, r.ord
  from settled, ${stretches}
  cross join lateral (${bestOf(afterSettling, locking)}
  ) l`;
  return {
    stretches,
    bestOf,
    candidates,
    peeked: (depth) => peekedTo(depth, stretches, bestOf),
    within: aboveFloor,
  };
}

/**
 * Looks where stretches of one route share a limit below that of all: their rows are numbered. A form of its own, because
 * that sorts every row that is seen: 4% of a claim of ten on one route, a third of one of 500 on 100 routes.
 */
export function fromStretches(queue: string, except: string): Look {
  const { stretches, bestOf } = fromPositions(queue, except);
  const candidates: Look['candidates'] = (locking) => `
  select * from (
  select l.id, l.prioridade, l.data_hora, r.route, r.ord, r.most,
    row_number() over (partition by r.route order by ${pickUpOrder('l')}) as nth
  from settled, ${stretches}
  cross join lateral (${bestOf(afterSettling, locking)}
  ) l
  ) numbered where nth <= most`;
  const peeked = (): string => `
  select numbered.id, numbered.prioridade, numbered.data_hora, numbered.ord, null::int as nth from (${candidates('')}
  ) numbered`;
  return { stretches, bestOf, candidates, peeked, within: aboveFloor };
}

function peekedTo(depth: string, stretches: string, bestOf: Look['bestOf']): string {
  return `
  select l.id, l.prioridade, l.data_hora, r.ord, case when r.most > ${depth} then l.nth end as nth
  from settled, ${stretches}
  cross join lateral (
    select one.*, row_number() over () as nth
    from (${bestOf(`least(r.most, ${depth}) + 0 * settled.n`, '')}
    ) one
  ) l`;
}

/** True for rows that come before `edge`, or are it; of priorities that were made null by hand the order holds as well. */
const isWithinEdge = (row: string): string => {
  const priority = (of: string): string => `coalesce(${of}.prioridade, 2147483648)`;
  return `${priority(row)} > ${priority('edge')}
    or ${priority(row)} = ${priority('edge')} and (${row}.data_hora, ${row}.id) <= (edge.data_hora, edge.id)`;
};

/**
 * Locks up to the limit in every stretch and takes the best of all. Right while at most one route has work: it walks over
 * the index once, while `counted` takes 15% longer for ten attempts and 30% for a hundred. With several flooded routes it
 * locks far more than it takes, which `contended` tells.
 */
export function single(look: Look): Shape {
  return {
    choosing: `got as materialized (${look.candidates(locked)}
),
best as materialized (
  select got.id from got order by ${pickUpOrder('got')} limit $8::int
)`,
    answer: `
  (select min(route) <> max(route) from got) as contended,`,
    nothingLeft: '',
  };
}

/**
 * Looks at the best rows of every stretch without locking, counts how many of the best of all each has, and locks that
 * many. So nothing is locked in vain, and claimers that see the same rows still lock different ones. A stretch that gives
 * less than it was seen to have is reported, because another session may lock the best rows of all for long.
 *
 * Of each stretch it sees `depth` rows at most: 500 of each of 100 routes cost as much as claiming them twice over. Where that
 * leaves some out, it takes nothing that comes after the first of the last rows that it saw of such a stretch: then `is_cut`.
 */
export function counted(look: Look, depth: string): Shape {
  return {
    choosing: `seen as materialized (${look.peeked(depth)}
),
edge as materialized (
  select seen.prioridade, seen.data_hora, seen.id from seen where seen.nth = ${depth} order by ${pickUpOrder('seen')} limit 1
),
peek as materialized (
  select counted.ord, count(*)::int as n
  from (
    select seen.ord from seen left join edge on true
    where edge.id is null or ${isWithinEdge('seen')}
    order by ${pickUpOrder('seen')}
    limit $8::int
  ) counted
  group by counted.ord
),
best as materialized (
  select l.id, r.ord
  from peek, ${look.stretches}
  cross join lateral (${look.bestOf('peek.n', locked)}
  ) l
  where r.ord = peek.ord
)`,
    answer: `
  case when (select sum(peek.n) from peek) > (select count(*) from best) then array(
    select peek.ord from peek where peek.n > (select count(*) from best where best.ord = peek.ord)
  ) end as locked_routes,
  exists (select from edge) as is_cut,
  (select coalesce(array_agg(each.ord), '{}')
   from (select seen.ord, count(*) as n, bool_or(seen.nth = ${depth}) as is_deep from seen group by seen.ord) each
   left join peek on peek.ord = each.ord
   where each.is_deep or each.n > coalesce(peek.n, 0)) as more_routes,`,
    // Behind what others have locked it has not looked.
    nothingLeft: `
    and not exists (select from edge) and (select count(*) from best) = (select coalesce(sum(peek.n), 0) from peek)`,
  };
}

/**
 * Takes the stretches in their order, each up to its own limit: the caller has divided the limits already, so nearly every
 * locked row is taken.
 */
export function shared(look: Look): Shape {
  return {
    choosing: `got as materialized (${look.candidates(locked)}
),
best as materialized (
  select got.id from got order by got.ord, ${pickUpOrder('got')} limit $8::int
)`,
    answer: '',
    nothingLeft: '',
  };
}
