import type { Cancellation, CancelTarget } from '../../cancellation.js';
import type { QueueTables } from '../identifiers.js';
import { keyOrder } from '../schema/schema.js';
import { isQuiet } from '../statement.js';
import { isWaiting } from './admin.js';

type Queue = Pick<QueueTables, 'queue'>;

/** It waits, or a worker of this library runs it: another program cannot be asked to stop. */
const isCancellable = `(${isWaiting} or f.status = 'processando' and f.executor is not null)`;

/**
 * Cancels `chosen`: what waits ends, what runs is marked, and ends so unless it succeeds. Who was first stays.
 *
 * @param message parameter: why
 * @param by parameter: who, or null
 */
export const cancelChosen = (queue: string, message: string, by: string): string => `update ${queue} f
set status = case when ${isWaiting} then 'falha' else f.status end,
  finalizada_em = case when ${isWaiting} then clock_timestamp() end,
  mensagem = case when f.cancelada_por is null then ${message}::text else f.mensagem end,
  cancelada_por = coalesce(f.cancelada_por, ${by}::text, ''),
  proxima_tentativa = null
where f.id = any(array(select id from chosen)) and ${isCancellable}`;

/** Tasks by ids of any of their attempts. Parameters: a list of JSON, which every driver sends as it is. */
const ofIds = (queue: string): string => {
  const firstIds = `array(
    select coalesce(a.id_inicial, a.id) from ${queue} a
    where a.id in (select asked::bigint from jsonb_array_elements_text($1::text::jsonb) asked)
  )`;
  return `(f.id = any(${firstIds}) or f.id_inicial = any(${firstIds}))`;
};

/**
 * Tasks by their key: those that wait by its index, those that run by theirs. Parameters: the key, and topic as the sixth, unless
 * they have none.
 */
const ofKey = (queue: string, topic: string | null): string => {
  const hasKey = `f.chave_externa = $1::text ${keyOrder} and not f.dead and ${topic === null ? `coalesce(f.processo, '') = ''` : 'f.processo = $6::text'}`;
  return `f.id = any(array(
    select f.id from ${queue} f where ${hasKey} and ${isWaiting}
    union all
    select f.id from ${queue} f where ${hasKey} and f.status = 'processando'
  ))`;
};

/**
 * Cancels tasks that have not ended, without dead chains, and rings for those that run. Parameters: those of the target, of which
 * the first is the first here, message, who, channel, text of the ring.
 */
export const cancelTasks = ({ queue }: Queue, target: CancelTarget): string => `-- name: cancel_tasks
with chosen as materialized (
  select f.id
  from ${queue} f
  where ${'ids' in target ? ofIds(queue) : ofKey(queue, target.topic)} and ${isCancellable}
  order by f.id
  for no key update of f
)
${cancelChosen(queue, '$2', '$3')}
returning f.id::text as id, coalesce(f.id_inicial, f.id)::text as first_id, f.tentativa::text as tentativa, f.processo, f.subscriber_id, f.dead::text as dead,
  (f.status = 'processando')::text as runs, case when f.status = 'processando' and not (${isQuiet}) then pg_notify($4::text, $5::text)::text end as rung`;

/** Their parameters. */
export function cancelValues(
  target: CancelTarget,
  { message, by }: Cancellation,
  { channel, changedText }: { readonly channel: string; readonly changedText: string },
): unknown[] {
  const [first, topic] =
    'ids' in target ? [JSON.stringify(target.ids), null] : [target.externalKey, target.topic];
  return [first, message, by, channel, changedText, ...(topic === null ? [] : [topic])];
}
