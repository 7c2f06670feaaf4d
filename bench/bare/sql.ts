import { routeExpression } from '../../lib/storage/postgres/statement.js';
import { table } from '../tarefa/queue.js';

// The bare loop works on this library's own table, with all its indexes and triggers, and does as little as one can:
// no retries, no leases, no fan-out, no fences but the counter of claims in a transaction's completion.

/** Rows that one claim takes. */
export const claimSize = 500;
/** Channel of the bare notifications. */
export const channel = 'bare';

/** As a careful user would set the connection of a loop: plans that do not depend on how full the table is. */
export const sessionSettings = `
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
set jit = off`;

/** The table's trigger rings for inserts, unless the session says that it does so itself. */
export const quiet = '-c tarefa.quiet=on';

const nextRows = `select f.id from ${table} f
  where f.status = 'pendente' and ${routeExpression('f.')} = 't:t0' and f.data_hora <= now()
  order by f.prioridade desc, f.data_hora, f.id limit ${claimSize} for no key update skip locked`;

const claimRows = `update ${table} f
set status = 'processando', executor = 0, reserva = f.reserva + 1, iniciada_em = clock_timestamp()
where f.id = any(array(select id from got))
returning f.id, f.reserva, f.payload`;

const success = `set status = 'sucesso', finalizada_em = clock_timestamp()`;

/** One SQL statement, prepared under its name. */
interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * Completes the last batch and claims the next: parameter 1 is the ids of the last one. The two parts overlap, which
 * is 10% faster than one after the other; so several processes deadlock now and then, and the loop tries again.
 */
export const completeAndClaim: Statement = {
  name: 'complete_and_claim',
  text: `with done as (update ${table} ${success} where id = any($1::bigint[])),
got as materialized (${nextRows})
${claimRows}`,
};

export const claim: Statement = {
  name: 'claim',
  text: `with got as materialized (${nextRows})
${claimRows}`,
};

export const complete: Statement = {
  name: 'complete',
  text: `update ${table} ${success} where id = $1::bigint and reserva = $2::int`,
};

export const completeMany: Statement = {
  name: 'complete_many',
  text: `update ${table} ${success} where id = any($1::bigint[])`,
};

export const insert: Statement = {
  name: 'insert',
  text: `insert into ${table} (processo, payload) values ('t0', $1)`,
};

export const insertAndNotify: Statement = {
  name: 'insert_and_notify',
  text: `with inserted as (insert into ${table} (processo, payload) values ('t0', $1) returning id)
select pg_notify('${channel}', '') from inserted`,
};

export const insertMany: Statement = {
  name: 'insert_many',
  text: `insert into ${table} (processo, payload) select 't0', value::text from json_array_elements($1::json)`,
};
