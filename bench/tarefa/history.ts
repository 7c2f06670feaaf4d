import { table } from './queue.js';

/** What the library says of its own inserts: no trigger looks at these. */
const quoted = table.replace(/\w+/g, '"$&"');

/** Rows of a group: what twenty rows of an ordinary history are. */
const groupRows = 20;
/** Rows of one INSERT. */
const chunkRows = 200_000;

/**
 * A history of `rows` rows, due from 100 days ago on: of twenty, eleven are tasks that succeeded at once, four a
 * publication with its three deliveries, two a task that was retried, three one that ran out of attempts and its dead
 * task. Statements to be run one after another; ids begin behind `from`.
 */
export function historyStatements(rows: number, from = 0): readonly string[] {
  const chunks = Math.ceil(rows / chunkRows);
  return [
    ...Array.from({ length: chunks }, (_, chunk) => {
      const first = from + chunk * chunkRows;
      return insertGroups(first, Math.min(chunkRows, from + rows - first) / groupRows, rows, from);
    }),
    `select setval(pg_get_serial_sequence('${table}', 'id'), greatest(1, ${from + rows}, (select max(id) from ${table})))`,
  ];
}

const insertGroups = (first: number, groups: number, rows: number, from: number): string => `
begin;
set local synchronous_commit = off;
set local tarefa.inserts = '${quoted}';
insert into ${table} (id, processo, status, data_hora, data_hora_inicial, finalizada_em, mensagem, payload, pub_sub,
  publication_id, subscriber_id, tentativa, id_inicial, id_anterior, reenfileirado, estouro_tentativas, dead, live_id)
select base + k, 't0', case when k in (14, 16, 17) then 'falha' else 'sucesso' end, at, at, at, 'done',
  case when k not in (15, 17) then '{"i":' || base || ',"s":"' || repeat('x', 40) || '"}' end,
  k = 10,
  case when k between 11 and 13 then base + 10 end,
  case when k between 11 and 13 then 's' || k end,
  case when k in (15, 17) then 2 else 1 end,
  case k when 15 then base + 14 when 17 then base + 16 end,
  case k when 15 then base + 14 when 17 then base + 16 end,
  k in (14, 16),
  k = 17,
  k = 18,
  case when k = 18 then base + 16 end
from generate_series(${first}, ${first + (groups - 1) * groupRows}, ${groupRows}) base,
  generate_series(1, ${groupRows}) k,
  lateral (select now() - interval '100 days' + (base - ${from}) * interval '30 days' / ${rows} as at) due
order by base, k;
commit`;
