import { routeExpression } from '../statement.js';

// Statements that claim are made of two parts: where they look, and how they choose. Parameters before $6 are those of
// `settling`; $6 routes, $7 limits, $8 limit of all, $9 whether only dead attempts or only others (null: both).

/** Where a claim looks. */
export interface Look {
  /** SQL of the routes: one row `r` per route with its limit `most` and its place `ord`. */
  readonly routes: string;
  /** The best pending rows of one route. */
  readonly bestOf: (limit: string, locking: string) => string;
  /** Condition on the claimed rows `f`, which leaves out partitions that none of them is in. */
  readonly within: string;
}

/** How a claim chooses among the rows that it sees. */
export interface Shape {
  /** Parts of the statement, the last of which is `best`: the rows that it has locked and takes. */
  readonly choosing: string;
  /**
   * What the answer also says: `locked_routes`, places of the routes that gave less than they were seen to have (null
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
  return {
    routes: `unnest($6::text[], $7::int[], $9::boolean[]) with ordinality r (route, most, dead, ord)`,
    bestOf: (limit, locking) => `
    select f.id, f.prioridade, f.data_hora
    from ${queue} f
    where ${isPending}${except}
    order by ${pickUpOrder('f')}
    limit ${limit}${locking}`,
    within: '',
  };
}

/** Every partition with lesser ids is left out before the statement begins. */
const aboveFloor = ` and f.id >= $15::bigint`;

/**
 * Each route from the time up to which it was claimed before: behind 100,000 dead entries a claim of ten takes 1 ms from
 * there, and 10 ms from the front. A route is looked through in stretches of priorities, the highest first, so that their rows come
 * in the order of pick-up, and the limit of the route ends it: nothing is sorted, and nothing is locked that is not taken.
 *
 * Parameters after $9: the first and the last stretch of each route; the highest and the lowest priority of each stretch, and the
 * time it starts at; the least id that is looked at.
 *
 * @param except SQL of what is left out
 */
export function fromPositions(queue: string, except: string): Look {
  return {
    routes: `unnest($6::text[], $7::int[], $9::boolean[], $10::int[], $11::int[]) with ordinality
      r (route, most, dead, first, last, ord)`,
    bestOf: (limit, locking) => `
    select stretch.* from generate_series(r.first, r.last) s (n)
    cross join lateral (
      select f.id, f.prioridade, f.data_hora
      from ${queue} f
      where ${isPending} and f.prioridade <= ($12::int[])[s.n] and f.prioridade >= ($13::int[])[s.n]
        and f.data_hora >= ($14::timestamptz[])[s.n]${aboveFloor}${except}
      order by ${pickUpOrder('f')}
      limit ${limit}${locking}
    ) stretch
    limit ${limit}`,
    within: aboveFloor,
  };
}

/** Rows of all routes, at most its limit of each, which it locks. */
function candidates({ routes, bestOf }: Look): string {
  return `
  select l.id, l.prioridade, l.data_hora, r.route, r.ord
  from settled, ${routes}
  cross join lateral (${bestOf(afterSettling, locked)}
  ) l`;
}

/** Rows of all routes without locks, `depth` of each at most, with their places `nth`; null where a route is looked through to its limit. */
function peeked({ routes, bestOf }: Look, depth: string): string {
  return `
  select l.id, l.prioridade, l.data_hora, r.ord, case when r.most > ${depth} then l.nth end as nth
  from settled, ${routes}
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
 * Locks up to the limit in every route and takes the best of all. Right while at most one route has work: it walks over
 * the index once, while `counted` takes 15% longer for ten attempts and 30% for a hundred. With several flooded routes it
 * locks far more than it takes, which `contended` tells.
 */
export function single(look: Look): Shape {
  return {
    choosing: `got as materialized (${candidates(look)}
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
 * Looks at the best rows of every route without locking, counts how many of the best of all each has, and locks that
 * many. So nothing is locked needlessly, and claimers that see the same rows still lock different ones. A route that gives
 * less than it was seen to have is reported, because another session may lock the best rows of all for long.
 *
 * Of each route it sees `depth` rows at most: 500 of each of 100 routes cost as much as claiming them twice over. Where that
 * leaves some out, it takes nothing that comes after the first of the last rows that it saw of such a route: then `is_cut`.
 */
export function counted(look: Look, depth: string): Shape {
  return {
    choosing: `seen as materialized (${peeked(look, depth)}
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
  from peek, ${look.routes}
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
 * Takes the routes in their order, each up to its own limit: the caller has divided the limits already, so nearly every
 * locked row is taken.
 */
export function shared(look: Look): Shape {
  return {
    choosing: `got as materialized (${candidates(look)}
),
best as materialized (
  select got.id from got order by got.ord, ${pickUpOrder('got')} limit $8::int
)`,
    answer: '',
    nothingLeft: '',
  };
}
