import { idParameter } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { isWaiting } from './admin.js';

// Cancels tasks, in a transaction of the caller's as well: its driver may prepare statements, so ids are parameters one
// by one, and reads values other than text in its own way, so all are text.

type Queue = Pick<QueueTables, 'queue'>;

const idParameters = (count: number): string => `(${Array(count).fill(idParameter).join(', ')})`;

/** All attempts of some tasks. Parameters: ids of any attempts, twice. */
export const attemptsOfTasks = ({ queue }: Queue, count: number): string =>
  named(
    'attempts_of_tasks',
    `
select cast(coalesce(a.id_inicial, a.id) as char) as id from ${queue} a where a.id in ${idParameters(count)}
union
select cast(b.id as char)
from ${queue} a
straight_join ${queue} b force index (attempts) on b.id_inicial = coalesce(a.id_inicial, a.id)
where a.id in ${idParameters(count)}`,
  );

/**
 * Attempts with a key that wait or run, dead ones excepted. Parameters: the key, and the topic, unless they have none; both twice.
 */
export const openWithKey = ({ queue }: Queue, topic: string | null): string => {
  const isMeant = `${topic === null ? `coalesce(f.processo, '') = ''` : 'f.processo = ?'} and not f.dead`;
  return named(
    'open_with_key',
    `
select cast(f.id as char) as id
from ${queue} f force index (equivalent)
where f.equivalente = cast(? as binary) and ${isMeant} and ${isWaiting}
union all
select cast(f.id as char)
from ${queue} f force index (running)
where f.executor_ativo is not null and f.chave_externa = ? and ${isMeant}`,
  );
};

/**
 * Locks some attempts, and reads how each stands by now. Parameters: ids, in their order, so that those who lock the same ones wait
 * in no circle.
 */
export const lockStanding = ({ queue }: Queue, count: number): string =>
  named(
    'lock_standing',
    `
select cast(f.id as char) as id, cast(coalesce(f.id_inicial, f.id) as char) as first_id, cast(f.tentativa as char) as tentativa,
  f.processo, f.subscriber_id, cast(f.dead as char) as dead, cast(f.reenfileirado as char) as reenfileirado,
  cast(f.status = 'processando' as char) as runs,
  cast(${isWaiting} or f.status = 'processando' and f.executor is not null as char) as is_open
from ${queue} f
where f.id in ${idParameters(count)}
order by f.id
for update`,
  );

/** Attempts that follow some others by now. Parameters: ids of those before. */
export const successorsOf = ({ queue }: Queue, count: number): string =>
  named(
    'successors_of',
    `
select cast(n.id as char) as id
from ${queue} n force index (successor)
where n.id_anterior in ${idParameters(count)}
for update`,
  );

/**
 * Cancels attempts, which are locked: what waits ends, what runs is marked, and ends so unless it succeeds. Who was first stays.
 * The server sets columns one after another, so those that the others depend on come last. Parameters: message, who or null, ids.
 */
export const cancelLocked = ({ queue }: Queue, count: number): string =>
  named(
    'cancel_tasks',
    `
update ${queue} f
set f.finalizada_em = if(${isWaiting}, ${now}, null), f.proxima_tentativa = null,
  f.mensagem = if(f.cancelada_por is null, ?, f.mensagem),
  f.cancelada_por = coalesce(f.cancelada_por, ?, ''),
  f.status = if(${isWaiting}, 'falha', f.status)
where f.id in ${idParameters(count)}`,
  );
