import type { TaskSelection } from '../task-selection.js';
import { buriedCondition, isTreated } from '../buried.js';
import { stateCondition } from '../columns.js';
import type { QueueTables } from './identifiers.js';
import { keyOrder } from './schema/schema.js';

/** Conditions over `f` in SQL, and their parameters. */
export interface Conditions {
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
}

/** @param first number of the first parameter */
export function conditionsOf(
  selection: TaskSelection,
  first: number,
  { queue }: Pick<QueueTables, 'queue'>,
): Conditions {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return;
    conditions.push(condition(`$${first + values.length}`));
    values.push(value);
  };
  const { states, topic, subscriptionId, externalKey, tenant, group, publicationId } = selection;
  const { since, until, dead, message, payload, latest, buried, ids } = selection;
  if (states !== undefined) conditions.push(stateCondition('f', states));
  if (topic === null) conditions.push(`coalesce(f.processo, '') = ''`);
  else add((parameter) => `f.processo = ${parameter}::text`, topic);
  add((parameter) => `f.subscriber_id = ${parameter}::text`, subscriptionId);
  add((parameter) => `f.chave_externa = ${parameter}::text ${keyOrder}`, externalKey);
  add((parameter) => `f.tenant = ${parameter}::text::bigint`, tenant);
  add((parameter) => `f.grupo_empresarial = ${parameter}::text`, group);
  add((parameter) => `f.publication_id = ${parameter}::text::bigint`, publicationId);
  add((parameter) => `f.data_hora >= ${parameter}::text::timestamptz`, since);
  add((parameter) => `f.data_hora < ${parameter}::text::timestamptz`, until);
  add((parameter) => isOfTasks(queue, parameter), ids);
  if (dead !== undefined) conditions.push(dead ? 'f.dead' : 'not f.dead');
  add(
    (parameter) => `f.mensagem ilike ${parameter}::text`,
    message === undefined ? undefined : patternOf(message),
  );
  if (payload !== undefined) {
    const patterns = [payload, JSON.stringify(payload).slice(1, -1)].map(patternOf);
    add((parameter) => payloadHolds(queue, parameter), patterns);
  }
  if (latest) conditions.push('f.reenfileirado is not true');
  if (buried !== undefined) conditions.push(buriedCondition('f', buried, isTreated('f', queue, 'd.live_id')));
  return { conditions, values };
}

/** Larger payloads are not searched. */
const largestSearchedBytes = 65_536;

/** Parameter: patterns for a payload as it is, and for one that is text in the JSON of a delivery. */
const payloadHolds = (queue: string, patterns: string): string => `exists (
    select from (
      select coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial)) as payload
      offset 0
    ) own
    where octet_length(own.payload) <= ${largestSearchedBytes}
      and own.payload ilike (${patterns}::text[])[case when f.subscriber_id is null then 1 else 2 end]
  )`;

/** Parameter: ids of attempts. */
const isOfTasks = (queue: string, ids: string): string => {
  const firstIds = `array(select coalesce(a.id_inicial, a.id) from ${queue} a where a.id = any(${ids}::text[]::bigint[]))`;
  return `(f.id = any(${firstIds}) or f.id_inicial = any(${firstIds}))`;
};

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}
