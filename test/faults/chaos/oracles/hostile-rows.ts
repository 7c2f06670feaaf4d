import { hostile, hostileRows, isToEnd } from '../workload/hostile.js';
import { violationOf, type Oracle } from './oracle.js';

/** I10 for rows as no client would insert them: those that can be read end, and nobody touches the others. */
export const hostileRowsRest: Oracle = async (evidence) => [
  ...(await violationOf(
    evidence,
    'I10',
    'a hostile row never ended',
    `select id::text, origem, status, tentativa, executor::text, perdas, dead, mensagem
     from tasks f where origem like $1 || '%' and ${isToEnd('f')}`,
    [hostile],
  )),
  ...(await violationOf(
    evidence,
    'I9',
    'a row that nobody can understand was changed',
    `select f.id::text, f.origem, f.status, f.executor::text, f.mensagem
     from json_to_recordset($1) as expected (name text, stays text)
     join tasks f on f.origem = expected.name
     where f.status is distinct from expected.stays or f.executor is not null`,
    [
      JSON.stringify(
        hostileRows.flatMap(({ name, stays }) =>
          stays === undefined ? [] : [{ name: hostile + name, stays }],
        ),
      ),
    ],
  )),
];
