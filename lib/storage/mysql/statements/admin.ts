import { mostCounted } from '../schema/schema-objects.js';
import { stateSql } from '../../columns.js';
import { mostLosses } from '../../failure-rule.js';
import { idList, idParameter, lockedList } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { recordFields } from '../record-fields.js';
import { msBetween, now } from '../sql-time.js';
import { named } from '../statement.js';
import { ownPayload, type Conditions } from '../task-conditions.js';

// What operators ask for. A change locks rows by their keys, looks at what it has locked, and changes that, in one transaction.

type Queue = Pick<QueueTables, 'queue'>;
type Paused = Pick<QueueTables, 'paused'>;

/** Rounds of tasks whose own cannot be counted on begin here. */
const strayRounds = 100_000_000;

/** Without a next attempt: as a task stands that may be retried. */
export const hasFailedForGood = `f.reenfileirado is not true and f.status in ('falha', 'falha_processando')`;

/** Due, scheduled for its first attempt, or retrying. */
export const isWaiting = `f.status in ('pendente', 'agendada')`;

/** The payload; nothing where the caller does not ask for it. */
export const payloadOf = (queue: string, isWanted: boolean): string =>
  isWanted ? ownPayload(queue) : 'null';

const counted = (queue: string, index: string, condition: string): string => `
  select f.processo, f.subscriber_id, ${stateSql('f')} as status
  from ${queue} f force index (${index})
  where ${condition} and f.reenfileirado is not true`;

/**
 * Counts tasks by topic, subscription and status. Unfinished ones are few and found by their indexes; what has ended is counted
 * from a time on.
 *
 * @param all true to count all of it; else there is a parameter: since
 */
export const countTasks = ({ queue }: Queue, all: boolean): string =>
  named(
    'count_tasks',
    `
select one.processo, one.subscriber_id, one.status, count(*) as n
from (${[
      counted(queue, 'ready', 'f.rota_pronta is not null'),
      counted(queue, 'scheduled', `f.status = 'agendada' and f.agendada_em is not null`),
      counted(queue, 'running', 'f.executor_ativo is not null'),
      counted(
        queue,
        all ? 'primary' : 'age',
        `f.status not in ('pendente', 'agendada', 'processando')${all ? '' : ' and f.data_hora >= ?'}`,
      ),
    ].join('\n  union all')}
) one
group by one.processo, one.subscriber_id, one.status
order by one.processo, one.subscriber_id, one.status`,
  );

/** The pending attempt that has been due for longest. */
export const oldestPending = ({ queue }: Queue): string =>
  named(
    'oldest_pending',
    `
select ${recordFields('f', 'null')}, ${msBetween('f.data_hora', now)} as waiting_ms
from (
  select p.id from ${queue} p force index (ready)
  where p.rota_pronta is not null and p.data_hora <= ${now}
  order by p.data_hora, p.id
  limit 1
) oldest
straight_join ${queue} f force index (primary) on f.id = oldest.id`,
  );

/** One page of attempts, the newest first. Parameters: those that stand before, greatest id, those of the conditions, rows of a page. */
export const listTasks = (
  { queue }: Queue,
  { begin, conditions }: Conditions,
  withPayload: boolean,
): string =>
  named(
    'list_tasks',
    `
select ${recordFields('f', payloadOf(queue, withPayload))}
from ${begin}${queue} f
where ${[`f.id <= ${idParameter}`, ...conditions].join('\n  and ')}
order by f.id desc
limit ?`,
  );

/** The task that an attempt belongs to. Parameters: id. */
const asked = (queue: string): string =>
  `(select coalesce(a.id_inicial, a.id) as first_id, a.rodada from ${queue} a where a.id = ${idParameter}) asked`;

/** All attempts of the task that an attempt belongs to, oldest first. Parameters: id, twice. */
export const taskAttempts = ({ queue }: Queue, withPayload = true): string =>
  named(
    'task_attempts',
    `
select ${recordFields('f', payloadOf(queue, withPayload))}
from (${attemptIds(queue)}
) own
straight_join ${queue} f force index (primary) on f.id = own.id
order by f.id`,
  );

/** Ids of all attempts of a task. Parameters: id of any of them, twice. */
const attemptIds = (queue: string): string => `
  select f.id from ${asked(queue)} straight_join ${queue} f force index (primary) on f.id = asked.first_id
  union
  select f.id from ${asked(queue)} straight_join ${queue} f force index (attempts) on f.id_inicial = asked.first_id`;

/** Finds the ids of all attempts of a task. Parameters: id of any of them, twice. */
export const findAttempts = ({ queue }: Queue): string => named('find_attempts', attemptIds(queue));

/** First attempts of the dead chains of a task. Parameters: id of its first attempt. */
export const deadChains = ({ queue }: Queue): string =>
  named('dead_chains', `select f.id from ${queue} f where f.morte = ${idParameter} order by f.id`);

/**
 * Locks those of some attempts that meet a condition. Parameters: ids.
 *
 * @param fields what to answer of them besides their ids
 */
export const lockAttempts = (
  { queue }: Queue,
  condition: string,
  { skips = false, fields = '' } = {},
): string =>
  named(
    'lock_attempts',
    `
select f.id${fields}
from ${lockedList} j straight_join ${queue} f force index (primary) on f.id = j.id
where ${condition}
order by f.id
for update${skips ? ' skip locked' : ''}`,
  );

/** What an edit needs of an attempt. */
export const ofEdits = `, f.metadados, ${now} as now`;

/** After the round of an attempt. One that is beyond what is counted was written by hand, and goes on where no other does. */
const nextRound = `case when f.rodada between 0 and ${mostCounted - 1} then f.rodada + 1
    else abs(f.id % ${strayRounds}) + ${strayRounds} end`;

/** What a new attempt or a dead task copies. */
const copied = `origem, destino, processo, chave_externa, tenant, grupo_empresarial, pub_sub, publication_id, subscriber_id, prioridade`;

function columnsOf(row: string, columns: string): string {
  return columns
    .split(', ')
    .map((name) => `${row}.${name}`)
    .join(', ');
}

/** Columns in which a new attempt may differ from the one before. */
export interface Edited {
  readonly payload: string;
  readonly hash: string;
  readonly metadata: string;
}

/** An edited payload is stored in the attempt itself, any other in the chain's first attempt. */
const unedited: Edited = {
  payload: 'case when f.id_inicial is not null then f.payload end',
  hash: 'f.payload_hash',
  metadata: 'f.metadados',
};

/** An edited payload comes as three parameters: payload, hash, metadata. */
export const edited: Edited = { payload: '?', hash: '?', metadata: '?' };

/** Nothing is where the new attempt of an attempt goes: no attempt that was inserted by hand, no task that lives under its unique key. */
const isFree = (queue: string): string => `not exists (
    select 1 from ${queue} n force index (successor) where n.id_anterior = f.id and n.rodada = ${nextRound}
  )
  and (f.chave_unica is null or left(f.chave_unica, 2) in ('w:', 'p:') or not exists (
    select 1 from ${queue} k force index (unica) where k.unica = cast(f.chave_unica as binary)
  ))`;

/**
 * Inserts a next attempt of each of some attempts, which are locked: of the same chain, with the number 1 and the next round, so
 * that key and payload stay. What cannot have one, because its unique key is taken or an attempt that follows it was inserted by
 * hand, is left out. The values fit, as they come from the same columns. Parameters: those of `changed`, ids.
 */
export const insertAnew = ({ queue }: Queue, changed: Edited = unedited): string =>
  named(
    'start_anew',
    `
insert into ${queue} (payload, payload_hash, metadados, id_inicial, data_hora_inicial, data_hora, tentativa, status, id_anterior,
  data_hora_anterior, status_anterior, mensagem_anterior, dead, live_id, perdas, rodada, chave_fila, lote, chave_unica, ${copied})
select ${changed.payload}, ${changed.hash}, ${changed.metadata}, coalesce(f.id_inicial, f.id), f.data_hora_inicial, ${now}, 1, 'pendente', f.id,
  f.data_hora, f.status, f.mensagem, f.dead, f.live_id,
  -- What killed its workers runs alone again, and has one chance.
  least(f.perdas, ${mostLosses - 1}), ${nextRound}, f.chave_fila, f.lote, f.chave_unica, ${columnsOf('f', copied)}
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
where ${isFree(queue)}
order by f.id`,
  );

/** Attempts that follow some others. Parameters: ids of those before. */
export const followers = ({ queue }: Queue): string =>
  named(
    'followers',
    `
select n.id, n.id_anterior
from ${idList} j straight_join ${queue} n force index (successor) on n.id_anterior = j.id
order by n.id`,
  );

/** Writes down that attempts have a next one. Parameters: ids. */
export const markRetried = ({ queue }: Queue): string =>
  named(
    'mark_retried',
    `
update ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
set f.reenfileirado = 1, f.proxima_tentativa = ${now}`,
  );

/** Makes scheduled attempts due now, which are locked. Parameters: ids. */
export const runNow = ({ queue }: Queue): string =>
  named(
    'run_task_now',
    `
update ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
set f.status = 'pendente', f.data_hora = ${now}`,
  );

/** Writes into the attempts before some others when these are due. Parameters: ids of those that follow. */
export const linkPrevious = ({ queue }: Queue): string =>
  named(
    'link_previous',
    `
update ${idList} j
straight_join ${queue} f force index (primary) on f.id = j.id
straight_join ${queue} p force index (primary) on p.id = f.id_anterior
set p.proxima_tentativa = f.data_hora`,
  );

/** Ends an attempt that waits, which is locked, as if it had run out of attempts. Parameters: message, id. */
export const endBuried = ({ queue }: Queue): string =>
  named(
    'end_buried',
    `
update ${queue} f
set f.status = 'falha', f.mensagem = ?, f.finalizada_em = ${now}, f.proxima_tentativa = null, f.estouro_tentativas = 1
where f.id = ${idParameter}`,
  );

/** Starts the dead task of an attempt, unless one was inserted by hand before in its round. Parameters: id. */
export const insertDead = ({ queue }: Queue): string =>
  named(
    'insert_dead',
    `
insert into ${queue} (payload, payload_hash, dead, live_id, rodada, metadados, ${copied})
select own.payload, case when octet_length(own.payload) > 0 then sha2(own.payload, 256) end, 1, own.live, own.rodada, own.metadados,
  ${columnsOf('own', copied)}
from (
  select ${ownPayload(queue)} as payload, coalesce(f.id_inicial, f.id) as live, f.rodada, f.metadados, ${columnsOf('f', copied)}
  from ${queue} f where f.id = ${idParameter}
) own
where not exists (
  select 1 from ${queue} d force index (dead) where d.morte = own.live and d.rodada = own.rodada
)`,
  );

/** The dead task that an attempt has in its round. Parameters: id. */
export const deadOf = ({ queue }: Queue): string =>
  named(
    'dead_of',
    `select d.id from ${asked(queue)} join ${queue} d on d.morte = asked.first_id and d.rodada = asked.rodada`,
  );

/** Parameters: route. */
export const pauseRoute = ({ paused }: Paused): string =>
  named('pause_route', `insert into ${paused} (route) values (?)`);

/** Parameters: route. */
export const resumeRoute = ({ paused }: Paused): string =>
  named('resume_route', `delete from ${paused} where route = ?`);

export const listPaused = ({ paused }: Paused): string =>
  named('list_paused', `select p.route, p.paused_at from ${paused} p order by p.route`);
