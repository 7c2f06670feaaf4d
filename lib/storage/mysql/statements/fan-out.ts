import type { QueueTables } from '../identifiers.js';
import { timeText } from '../record-fields.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { columnsOf, keys, payloadHash } from './fail.js';
import { byKey, idRows } from './held.js';

// Deliveries of publications: statements of one transaction, in which the publications are locked.

/** Tables of a queue that delivers. */
export type FanOutTables = Pick<QueueTables, 'queue' | 'seal'> & { readonly subscriptions: string };

const textJson = (value: string): string => `coalesce(json_quote(${value}), 'null')`;

/**
 * A whole row of a subscription as deliveries carry it, as JSON text. It is put together by hand: MySQL's functions order the keys
 * of an object again, which would change the headers' text, and MariaDB's take JSON in a `case` for text.
 */
export const subscriptionJson = (row: string): string =>
  `concat('{"id":', ${textJson(`${row}.id`)}, ',"tenant":', coalesce(${row}.tenant, 'null'),
    ',"grupo_empresarial":', ${textJson(`${row}.grupo_empresarial`)}, ',"processo":', ${textJson(`${row}.processo`)},
    ',"url":', ${textJson(`${row}.url`)}, ',"http_method":', ${textJson(`${row}.http_method`)},
    ',"headers":', case when json_valid(${row}.headers) then ${row}.headers else 'null' end,
    ',"ativo":', if(${row}.ativo, 'true', 'false'), ',"created_at":', ${textJson(timeText(`${row}.created_at`))}, '}')`;

/** Texts that are equal byte by byte, spaces at their ends included, found by the index over the first. */
const sameText = (one: string, other: string): string =>
  `${one} = ${other} collate utf8mb4_bin and length(${one}) = length(${other})`;

/** What the seal covers: publication and subscription, so that no other delivery can use it, and the envelope. */
const covered = `concat(c.publication_id, ' ', length(c.subscriber_id), ' ', c.subscriber_id, ' ', c.envelope)`;

/** HMAC-SHA256 of what the seal covers, in hexadecimal. */
const seal = `sha2(concat(k.outer_key, unhex(sha2(concat(k.inner_key, cast(${covered} as binary)), 256))), 256)`;

/** What a sealed envelope ends with, besides its last brace. */
const sealed = `concat(left(c.envelope, char_length(c.envelope) - 1), ', "seal" : "', ${seal}, '"}')`;

const inherited = `origem, destino, processo, chave_externa, tenant, grupo_empresarial, prioridade, metadados, ${keys}`;
/** A derived table with a limit is made once; without, its texts would be put together wherever they are used. */
const madeOnce = 'limit 18446744073709551615';

/** A copy for every active subscription of the topic whose tenant and group are either unset or the publication's. */
const envelopes = ({ queue, subscriptions }: FanOutTables): string => `
  select ${columnsOf('f', inherited)}, coalesce(f.id_inicial, f.id) as publication_id, s.id as subscriber_id, s.url,
    concat('{"publication":', ${textJson('coalesce(f.payload, o.payload)')}, ',"subscription":', ${subscriptionJson('s')}, '}') as envelope
  from ${idRows}
  ${byKey(queue)}
  left join ${queue} o force index (primary) on o.id = f.id_inicial
  join ${subscriptions} s on ${sameText('s.processo', 'f.processo')} and s.ativo
    and (s.tenant is null or s.tenant = f.tenant)
    and (s.grupo_empresarial is null or ${sameText('s.grupo_empresarial', 'f.grupo_empresarial')})
  ${madeOnce}`;

/** Only where this user may read the key. */
const storedPayload = (seals: boolean): string =>
  seals ? `case when c.url is null or k.inner_key is null then c.envelope else ${sealed} end` : 'c.envelope';

/**
 * Inserts the deliveries of publications. A copy's payload is an envelope: the publication's text and the subscription's whole
 * row at this moment, so that later changes of the subscription do not reach it. A copy with a URL is sealed, so that its
 * sender knows that a worker has chosen that URL: see `lib/webhooks/delivery-seal.ts`. Parameters: ids.
 */
export const insertCopies = (tables: FanOutTables, seals: boolean): string =>
  named(
    seals ? 'fan_out' : 'fan_out_unsealed',
    `
insert into ${tables.queue} (${inherited}, payload, payload_hash, publication_id, subscriber_id)
select ${columnsOf('d', inherited)}, d.payload, ${payloadHash('d.payload')}, d.publication_id, d.subscriber_id
from (
  select ${columnsOf('c', inherited)}, c.publication_id, c.subscriber_id, ${storedPayload(seals)} as payload
  from (${envelopes(tables)}
  ) c${seals ? `\n  left join ${tables.seal} k on true` : ''}
  ${madeOnce}
) d`,
  );

/** Right after {@link insertCopies}: the first id that it has given, null when it has inserted nothing. */
export const firstCopy = named(
  'first_copy',
  'set @tarefa_copy = if(row_count() > 0, last_insert_id(), null)',
);

/** How many copies of each publication were made, by the publication's attempt. Parameters: ids. */
export const countCopies = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'count_copies',
    `
select x.id, count(c.id) as deliveries
from ${idRows}
${byKey(queue)}
left join ${queue} c force index (deliveries) on c.publication_id = coalesce(f.id_inicial, f.id)
  and c.id >= @tarefa_copy and c.id_anterior is null and not c.dead
group by x.id`,
  );

/** Completes publications. Parameters: JSON of ids and messages. */
export const settlePublications = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'settle_publications',
    `
update json_table(?, '$[*]' columns (id bigint path '$.id', message varchar(500) character set utf8mb4 path '$.message')) x
${byKey(queue)}
set f.status = 'sucesso', f.finalizada_em = ${now}, f.mensagem = x.message`,
  );
