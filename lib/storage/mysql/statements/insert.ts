import type { TaskStatus } from '../../../task.js';
import { parseInstant } from '../../../values/instant.js';
import { statusCondition, statusTexts } from '../../columns.js';
import type { NewTask } from '../../inserts.js';
import { recordFields } from '../record-fields.js';
import { after, now } from '../sql-time.js';
import { named } from '../statement.js';

/** What an insert gives. */
export const columns = `data_hora_inicial, data_hora, origem, destino, processo, chave_externa, payload, payload_hash,
  tenant, grupo_empresarial, prioridade, pub_sub, metadados`;

/** Calls of the clock in one statement answer the same. */
const due = `coalesce(?, ${after('coalesce(?, 0)')})`;
const values = [due, due, '?', '?', '?', '?', '?', '?', '?', '?', 'coalesce(?, 50)', '?', '?'];
/** One row of {@link columns}. Parameters: {@link valuesOf}. */
export const row = `(${values.join(', ')})`;

/**
 * Inserts tasks, a row each with the parameters of {@link valuesOf}. Rows of one statement get ids that rise in their order by
 * the server's step, because their number is known before it begins. `status` is left to the table's trigger.
 *
 * @param queue quoted table name
 */
export function insertRows(queue: string, count: number): string {
  return named(
    'insert_tasks',
    `insert into ${queue} (${columns})\nvalues ${Array(count).fill(row).join(',\n  ')}`,
  );
}

/** More than any id. */
const takenOffset = 2n ** 63n;

/** Tells {@link insertedId} of the task of a row that was there. An assignment of which only the effect matters. */
const tellTaken = (isTaken: string): string => {
  const taken = `cast(coalesce(id_inicial, id) + ${takenOffset} as unsigned)`;
  const told = `last_insert_id(if(${isTaken}, ${taken}, cast(0 as unsigned)))`;
  // A comparison that is always true would be left out, and its effect with it.
  return `tentativa = if(${told} > 0, tentativa, tentativa)`;
};

/**
 * Inserts one task, or answers by {@link insertedId} the one that has its unique key. Whatever other unique index of the user's is
 * in the way, the row there stays as it is. Parameters: those of a row, the key.
 */
export function insertUnique(queue: string): string {
  return named(
    'insert_unique',
    `insert into ${queue} (${columns}, chave_unica)\nvalues (${row.slice(1, -1)}, ?)
on duplicate key update ${tellTaken('unica <=> cast(values(chave_unica) as binary)')}`,
  );
}

/**
 * Puts a task in the place of an attempt that still has its unique key; {@link insertedId} answers 0 else. The row is locked before
 * its key is, as claims do: whoever inserts into a key locks the key first, and would meet them in a deadlock. Parameters: those of
 * a row, the id of {@link findUnique}, the key.
 */
export function replaceUnique(queue: string): string {
  const replaced = columns.split(/,\s+/).map((name, index) => `${name} = ${values[index]}`);
  return named(
    'replace_unique',
    `update ${queue} force index (primary)
set ${[tellTaken('true'), ...replaced].join(', ')},
  status = if(data_hora > ${now}, 'agendada', 'pendente')
where id = ? and unica = cast(? as binary)`,
  );
}

/** What the last {@link insertUnique} of the session came to. */
export const insertedId = named('inserted_id', 'select cast(last_insert_id() as char) as id');

/** The task that was there, if it was not inserted; undefined when another index was in the way. */
export function readInsertedId(text: string): { readonly id: string; readonly isNew: boolean } | undefined {
  const id = BigInt(text);
  if (id === 0n) return undefined;
  return id < takenOffset ? { id: text, isNew: true } : { id: String(id - takenOffset), isNew: false };
}

/** Inserts one task with its unique key. Parameters: those of a row, the key. */
export const insertKeyed = (queue: string): string =>
  named('insert_keyed', `insert into ${queue} (${columns}, chave_unica)\nvalues (${row.slice(1, -1)}, ?)`);

/**
 * The task that has a unique key, and its attempt; {@link insertedId} answers 0 from then on. Parameter: the key.
 *
 * @param isCurrent true: the row as it is, which others may then not change until the transaction ends; else as it sees it
 */
export function findUnique(queue: string, isCurrent: boolean): string {
  const lock = isCurrent ? '\nlock in share mode' : '';
  return named(
    'find_unique',
    `select cast(coalesce(id_inicial, id) as char) as id, cast(id as char) as attempt, last_insert_id(0) from ${queue} force index (unica) where unica = cast(? as binary)${lock}`,
  );
}

/** The id of the first row that the last statement of a session has inserted, and by how much each next one is greater. */
export const insertedIds = named(
  'inserted_ids',
  'select cast(last_insert_id() as char) as id, cast(@@session.auto_increment_increment as char) as step',
);

/** Parameters of a row. */
export function valuesOf(task: NewTask): readonly unknown[] {
  // The server reads no zones.
  const at = task.dueAt === null ? null : inUtc(task.dueAt);
  return [
    at,
    task.delayMs,
    at,
    task.delayMs,
    task.origin,
    task.destination,
    task.topic,
    task.externalKey,
    task.payload,
    task.payloadHash,
    task.tenant,
    task.group,
    task.priority,
    task.publication ? 1 : 0,
    task.metadata && JSON.stringify(task.metadata),
  ];
}

/** Digits below a millisecond are kept. */
export function inUtc(iso: string): string {
  const [, below = ''] = /\.\d{3}(\d{1,3})\d*(?:Z|[+-]\d\d(?::?\d\d)?)$/i.exec(iso) ?? [];
  // Some of what producers may write is no date to JavaScript.
  const date = parseInstant(iso, { zone: 'required' }) ?? new Date(iso);
  return date.toISOString().replace('T', ' ').replace('Z', below);
}

/**
 * Attempts equal to a task: same payload, external key, origin, destination, topic, tenant and group, where no value equals only
 * no value. Parameters: external key, hash, origin, destination, topic, tenant, group. The payload of a later attempt is that of
 * the first one.
 *
 * @param queue quoted table name
 */
export function listEquivalent(queue: string, statuses: readonly TaskStatus[]): string {
  const texts = statuses.flatMap(statusTexts);
  const isIndexed = texts.every((text) => ['pendente', 'agendada', 'sucesso'].includes(text));
  const key = isIndexed ? 'f.equivalente = cast(? as binary)' : 'f.chave_externa = ?';
  const payload = `coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial))`;
  return named(
    'list_equivalent',
    `select ${recordFields('f', payload)}
from ${queue} f
where ${key} and f.payload_hash = cast(? as binary) and ${statusCondition('f', statuses)}
  and f.origem <=> ? and f.destino <=> ? and f.processo <=> ? and f.tenant <=> ? and f.grupo_empresarial <=> ?
order by f.id`,
  );
}
