import { effectful } from '../workload/kinds.js';
import { violation, violationOf, type Oracle } from './oracle.js';

/** I2: no task has its effect twice. The effect table has nothing unique, so it shows what really committed. */
export const effectsOnce: Oracle = (evidence) =>
  violationOf(
    evidence,
    'I2',
    'a task has its effect more than once',
    `select task_root::text, count(*)::int as effects, array_agg(attempt order by attempt) as attempts,
       array_agg(worker) as workers
     from effect group by task_root having count(*) > 1`,
  );

/** I3: an effect and the success of its attempt are one commit: neither is there without the other. */
export const effectsMatch: Oracle = async (evidence) => [
  ...(await violationOf(
    evidence,
    'I3',
    'an effect without the success of its attempt',
    `select e.task_root::text, e.attempt, e.worker, e.key, f.status
     from effect e
     left join every_row f on f.root = e.task_root and f.tentativa = e.attempt
     where f.status is distinct from 'sucesso'`,
  )),
  ...(await violationOf(
    evidence,
    'I3',
    'a success without its effect',
    `select f.id::text, f.origem, f.processo, f.subscriber_id, f.tentativa, f.dead
     from every_row f
     where f.status = 'sucesso' and not f.pub_sub
       and case when f.dead then 'dead ' || f.processo else coalesce(f.subscriber_id, f.processo) end = any($1)
       and not exists (
         select from effect e where e.task_root = f.root and e.attempt = f.tentativa
       )`,
    [effectful],
  )),
];

/**
 * I14, in the form there is for one database: the connection and the transaction that a handler is given are the
 * queue's own and nobody else's.
 */
export const transactionsAlone: Oracle = async (evidence) => {
  const owner = new Map<string, string>();
  const shared: object[] = [];
  for (const { id, backend, xid } of evidence.history.transactions) {
    const transaction = `${backend} ${xid}`;
    const first = owner.get(transaction);
    if (first === undefined) owner.set(transaction, id);
    else shared.push({ transaction, attempts: [first, id] });
  }
  return [
    ...violation('I14', 'two attempts worked in the same transaction', shared),
    ...(await violationOf(
      evidence,
      'I14',
      'the effects of two tasks are of the same transaction',
      `select xid::text, array_agg(task_root::text) as roots from effect group by xid having count(*) > 1`,
    )),
  ];
};
