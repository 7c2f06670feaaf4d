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

/** Later attempts have the payload of the first one, unless it was edited. */
const payload = 'coalesce(f.payload, first.payload)';
const isInline = `coalesce(octet_length(${payload}) <= ${inlinePayloadBytes}, true)`;

/** As the text of a time that is read from its own column. */
const isoTime = (column: string): string => `date_format(${column}, '%Y-%m-%dT%H:%i:%s.%fZ')`;

const isPlain = [
  ...seldomSet.map((name) => `f.${name} is null`),
  `f.tentativa = 1 and f.prioridade = ${defaultPriority} and not f.pub_sub and not f.dead and f.perdas = 0`,
  `f.data_hora_inicial = f.data_hora and ${isInline}`,
].join(' and ');

const pairs = [...seldomSet, ...seldomOther].map((name) => `'${name}', cast(f.${name} as char)`).join(', ');

/**
 * What a claim answers of the rows `f` whose ids are `j`, which it holds but has not changed yet; with the tables that follow a
 * `select`. All that most tasks leave as it comes is one column, `rest`: JSON, its values as text, and null for a first attempt
 * of priority 50 of which nothing else was set. Reading twenty columns takes Node.js more time than all else that it does for a
 * small task.
 *
 * - `payload_inline`, or in `rest` its size as `payload_bytes` when it was too large to come along.
 * - `data_hora_inicial` only in `rest`: a task without one is due for the first time.
 * - `key_time`, when the task's very first attempt was due, in the `rest` of dead tasks.
 *
 * @param reservation of the claim: the next one of a row that it has not changed yet
 */
export const claimedFields = (
  { queue }: QueueTables,
  ids: string,
  reservation = nextReservation('f.'),
): string => `
  f.id, ${reservation} as reserva, f.processo, f.data_hora,
  case when ${isInline} then ${payload} end as payload_inline,
  case when ${isPlain} then null
    else cast(json_object(${pairs}, 'data_hora_inicial', ${isoTime('f.data_hora_inicial')},
      'payload_bytes', case when not ${isInline} then octet_length(${payload}) end,
      'key_time', ${isoTime('live.data_hora_inicial')}) as char)
  end as rest
from ${ids}
straight_join ${queue} f force index (primary) on f.id = j.id
left join ${queue} first force index (primary) on first.id = f.id_inicial and f.payload is null
left join ${queue} live force index (primary) on live.id = f.live_id and f.dead`;
