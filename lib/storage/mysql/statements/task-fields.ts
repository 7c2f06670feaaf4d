import { defaultPriority } from '../../inserts.js';
import type { QueueTables } from '../identifiers.js';
import { nextReservation } from '../statement.js';

/** Payloads up to this many bytes travel with the claim; larger ones are read when their task starts. */
export const inlinePayloadBytes = 65_536;

/** Columns that most tasks leave unset. */
const seldomSet = [
  'id_inicial',
  'origem',
  'destino',
  'chave_externa',
  'tenant',
  'grupo_empresarial',
  'publication_id',
  'subscriber_id',
  'live_id',
  'metadados',
  'chave_fila',
] as const;

/** Columns that are nearly always as they come. */
const seldomOther = ['tentativa', 'prioridade', 'pub_sub', 'dead', 'perdas'] as const;

/** As the text of a time that is read from its own column. */
const isoTime = (column: string): string => `date_format(${column}, '%Y-%m-%dT%H:%i:%s.%fZ')`;

const isPlain = [
  ...seldomSet.map((name) => `f.${name} is null`),
  `f.tentativa = 1 and f.prioridade = ${defaultPriority} and not f.pub_sub and not f.dead and f.perdas = 0`,
  'f.data_hora_inicial = f.data_hora',
].join(' and ');

const pairs = [...seldomSet, ...seldomOther].map((name) => `'${name}', cast(f.${name} as char)`).join(', ');

/**
 * What a claim answers of rows `f`. All that most tasks leave as it comes is one column, `rest`: JSON, its values as text, and null for a first attempt
 * of priority 50 of which nothing else was set. Reading twenty columns takes Node.js more time than all else that it does for a
 * small task.
 *
 * - `payload_inline`, or in `rest` its size as `payload_bytes` when it was too large to come along.
 * - `data_hora_inicial` only in `rest`: a task without one is due for the first time.
 * - `key_time`, when the task's very first attempt was due, in the `rest` of dead tasks.
 *
 * @param reservation of the claim
 * @param firstPayload later attempts have the payload of the first one, unless it was edited
 * @param liveDue when the live attempt of a dead one was due for the first time
 */
function fields(reservation: string, firstPayload: string, liveDue: string): string {
  const payload = `coalesce(f.payload, ${firstPayload})`;
  const isInline = `coalesce(octet_length(${payload}) <= ${inlinePayloadBytes}, true)`;
  return `
  f.id, ${reservation} as reserva, f.processo, f.data_hora,
  case when ${isInline} then ${payload} end as payload_inline,
  case when ${isPlain} and ${isInline} then null
    else cast(json_object(${pairs}, 'data_hora_inicial', ${isoTime('f.data_hora_inicial')},
      'payload_bytes', case when not ${isInline} then octet_length(${payload}) end,
      'key_time', ${isoTime(liveDue)}) as char)
  end as rest`;
}

/**
 * What is told of the rows `f` whose ids are `j`, with the tables that follow a `select`.
 *
 * @param reservation of the claim: the next one of a row that it has not changed yet
 */
export const claimedFields = (
  { queue }: QueueTables,
  ids: string,
  reservation = nextReservation('f.'),
): string => `${fields(reservation, 'first.payload', 'live.data_hora_inicial')}
from ${ids}
straight_join ${queue} f force index (primary) on f.id = j.id
left join ${queue} first force index (primary) on first.id = f.id_inicial and f.payload is null
left join ${queue} live force index (primary) on live.id = f.live_id and f.dead`;

/** The same of rows `f` that a statement locks: those of other attempts are read beside it, so that they are not locked. */
export const lockedFields = ({ queue }: QueueTables): string =>
  fields(
    nextReservation('f.'),
    `(select first.payload from ${queue} first force index (primary) where first.id = f.id_inicial)`,
    `(select live.data_hora_inicial from ${queue} live force index (primary) where live.id = f.live_id)`,
  );
