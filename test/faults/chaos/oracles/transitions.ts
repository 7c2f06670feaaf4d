import { violationOf, type Oracle } from './oracle.js';

/**
 * Every change of a row that may be seen: status before and after, what becomes of `reserva`, and whether somebody
 * holds the row afterwards. `-` means that there is no row.
 */
export const legalTransitions: readonly string[] = [
  '- pendente free', // insert
  '- agendada free', // insert for later, next attempt
  'agendada pendente same free', // promote
  'pendente processando next held', // claim
  'processando sucesso same held', // complete; the holder stays as a record
  'processando falha same held', // fail
  'processando pendente same free', // release
  'pendente processando same free', // claim by a worker of nsj-queue-lib
  'processando processando next taken over', // what that one left is taken over, to be recovered
  'sucesso -', // purge
  'falha -', // purge
];

/** I9: rows change in the ways above and in no other. */
export const legalOnly: Oracle = (evidence) =>
  violationOf(
    evidence,
    'I9',
    'a transition that is not in the list',
    `select * from (
       select id::text, at, case
         when old_status is null then '- ' || new_status || case when new_executor is null then ' free' else ' held' end
         when new_status is null then old_status || ' -'
         else old_status || ' ' || new_status
           || case new_reserva - old_reserva when 0 then ' same' when 1 then ' next' else ' other' end
           || case when new_executor is null then ' free'
                when old_status = 'processando' and old_executor is null then ' taken over'
                when old_status = 'processando' and new_executor is distinct from old_executor then ' taken' else ' held' end
       end as transition
       from audit
     ) a where transition <> all($1)`,
    [legalTransitions],
  );
