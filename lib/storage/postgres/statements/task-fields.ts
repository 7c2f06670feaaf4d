import { defaultPriority } from '../../inserts.js';

/** Payloads up to this many bytes travel with the claim; larger ones are read when their task starts. */
export const inlinePayloadBytes = 65_536;

/** The columns of a row that a task shows. */
export const taskFields = `
    f.id, f.reserva, f.tentativa, f.id_inicial, f.processo, f.origem, f.destino, f.chave_externa, f.tenant,
    f.grupo_empresarial, f.prioridade, f.data_hora, f.data_hora_inicial, f.publication_id, f.subscriber_id,
    f.pub_sub, f.dead, f.live_id, f.perdas, f.metadados, f.chave_fila`;

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

const fitsInline = `octet_length(f.payload) <= ${inlinePayloadBytes}`;

/**
 * What a claim answers of a row. All that most tasks leave as it comes is one column, `rest`: JSON, its values as text, and
 * null for a first attempt of priority 50 of which nothing else was set. Reading twenty columns takes Node.js more time than
 * all else that it does for a small task.
 *
 * - `payload_inline`, or in `rest` its size as `payload_bytes` when it was too large to come along.
 * - `data_hora_inicial` only in `rest`: a task without one is due for the first time.
 * - `key_time`, when the task's very first attempt was due, in the `rest` of dead tasks.
 */
export const claimedFields = (queue: string): string => {
  const set = [...seldomSet, 'tentativa', 'prioridade', 'pub_sub', 'dead', 'perdas', 'data_hora_inicial'];
  const pairs = set.map((name) => `'${name}', f.${name}::text`).join(', ');
  return `f.id, f.reserva, f.processo, f.data_hora,
  case when ${fitsInline} then f.payload end as payload_inline,
  case when (row(${seldomSet.map((name) => `f.${name}`).join(', ')}) is null and f.tentativa = 1
      and f.prioridade = ${defaultPriority} and not f.pub_sub and not f.dead and f.perdas = 0
      and f.data_hora_inicial = f.data_hora and coalesce(${fitsInline}, true)) is not true
    then json_build_object(${pairs},
      'payload_bytes', case when not ${fitsInline} then octet_length(f.payload) end,
      'key_time', case when f.dead then (select live.data_hora_inicial::text from ${queue} live where live.id = f.live_id) end)
  end as rest`;
};
