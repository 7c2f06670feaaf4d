import { buriedCondition, isTreated } from '../buried.js';
import { stateCondition } from '../columns.js';
import type { TaskSelection } from '../task-selection.js';
import { idList, idParameter, jsonIds } from './administration/id-list.js';
import { momentOf } from './administration/moments.js';
import type { QueueTables } from './identifiers.js';

/** Which attempts are meant, in SQL, and its parameters in the order of the text. */
export interface Conditions {
  /** What stands before the attempts, `f`: tasks that were asked for by their ids, of which a straight join begins. */
  readonly begin: string;
  readonly beginValues: readonly unknown[];
  /** Over `f`. */
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
}

export function conditionsOf(selection: TaskSelection, { queue }: Pick<QueueTables, 'queue'>): Conditions {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: string, ...given: unknown[]): void => {
    if (given.includes(undefined)) return;
    conditions.push(condition);
    values.push(...given);
  };
  const { states, topic, subscriptionId, externalKey, tenant, group, publicationId } = selection;
  const { since, until, dead, message, payload, latest, buried, ids } = selection;
  if (states !== undefined) add(stateCondition('f', states));
  if (topic === null) add(`coalesce(f.processo, '') = ''`);
  else add('f.processo = ?', topic);
  add('f.subscriber_id = ?', subscriptionId);
  add('f.chave_externa = ?', externalKey);
  add(`f.tenant = ${idParameter}`, tenant);
  add('f.grupo_empresarial = ?', group);
  add(`f.publication_id = ${idParameter}`, publicationId);
  add('f.data_hora >= ?', since && momentOf(since));
  add('f.data_hora < ?', until && momentOf(until));
  if (dead !== undefined) add(dead ? 'f.dead' : 'not f.dead');
  // The column's order tells capital letters from small ones.
  add('lower(f.mensagem) like lower(?)', message === undefined ? undefined : patternOf(message));
  if (payload !== undefined) {
    add(payloadHolds(queue), patternOf(JSON.stringify(payload).slice(1, -1)), patternOf(payload));
  }
  if (latest) add('f.reenfileirado is not true');
  if (buried !== undefined) add(buriedCondition('f', buried, isTreated('f', queue, 'd.morte')));
  return {
    begin: ids === undefined ? '' : `${attemptsOfTasks(queue)} chosen straight_join `,
    beginValues: ids === undefined ? [] : [jsonIds(ids), jsonIds(ids)],
    conditions: ids === undefined ? conditions : ['f.id = chosen.id', ...conditions],
    values,
  };
}

/** The payload, which all attempts of a chain share. */
export const ownPayload = (queue: string): string =>
  `coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial))`;

/** Larger payloads are not searched. */
const largestSearchedBytes = 65_536;

/** Parameters: a pattern for a payload that is text in the JSON of a delivery, and one for a payload as it is. */
const payloadHolds = (queue: string): string =>
  `(case when octet_length(${ownPayload(queue)}) <= ${largestSearchedBytes}
    then lower(${ownPayload(queue)}) like lower(case when f.subscriber_id is not null then ? else ? end) end)`;

/**
 * Attempts of some tasks: the first ones, and those that name them. Two lists of few ids, because with `or` the server would read the
 * whole table. Parameters: ids of attempts, twice.
 */
const attemptsOfTasks = (queue: string): string => `(
    select coalesce(a.id_inicial, a.id) as id
    from ${idList} j straight_join ${queue} a force index (primary) on a.id = j.id
    union
    select b.id
    from ${idList} j
    straight_join ${queue} a force index (primary) on a.id = j.id
    straight_join ${queue} b force index (attempts) on b.id_inicial = coalesce(a.id_inicial, a.id)
  )`;

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}
