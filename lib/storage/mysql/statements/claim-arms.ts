import type { Stretch } from '../../claiming/claim-request.js';
import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import { now, sqlTime } from '../sql-time.js';
import type { Part } from '../claims/one-text.js';
import { exceptApart, type LeftOut } from './apart.js';
import { lockedFields } from './task-fields.js';

/** A stretch to look through, and how far. */
export interface Arm {
  /** Of the stretch in its request. */
  readonly place: number;
  readonly stretch: Stretch;
  readonly limit: number;
}

const [highestOfAll, lowestOfAll] = [2_147_483_647, -2_147_483_648];

/**
 * Locks the best due attempts of each stretch, but for those that another session has locked, and those that are left out.
 *
 * @param reads whether it tells all of them that a claim answers
 */
export const lockBest = (tables: QueueTables, arms: readonly Arm[], leftOut: LeftOut, reads: boolean): Part =>
  union('lock_best', arms, (arm) =>
    armSql(tables, arm, leftOut, reads ? lockedFields(tables) : placeFields, ' for update skip locked'),
  );

/** Looks at the best due attempts of each stretch, whoever has locked them. */
export const seeBest = (tables: QueueTables, arms: readonly Arm[], leftOut: LeftOut): Part =>
  union('see_best', arms, (arm) => armSql(tables, arm, leftOut, placeFields, ''));

/** Where an attempt is in the order of pick-up, beside its priority. */
const placeFields = ' f.id, f.data_hora';

/** One query per stretch: they walk over the index of pending attempts in its order, and stop at their limits. */
function union(name: string, arms: readonly Arm[], sql: (arm: Arm) => Part): Part {
  const parts = arms.map(sql);
  return {
    text: named(name, parts.map(({ text }) => `(${text})`).join('\nunion all\n')),
    values: parts.flatMap(({ values = [] }) => values),
  };
}

function armSql(
  { queue }: QueueTables,
  { place, stretch, limit }: Arm,
  { ids }: LeftOut,
  fields: string,
  locking: string,
): Part {
  const bounds = boundsOf(stretch);
  const only = stretch.only === undefined ? '' : ` and ${stretch.only === 'dead' ? '' : 'not '}f.dead`;
  const text = `select ${place} as place, f.prioridade,${fields} from ${queue} f force index (ready)
where f.rota_pronta = cast(? as binary)${bounds.text} and f.data_hora <= ${now}${only}${exceptApart({ ids }).text}
order by f.prioridade desc, f.data_hora, f.id limit ${limit}${locking}`;
  return { text, values: [stretch.route, ...(bounds.values ?? [])] };
}

/** From the time up to which a route was claimed before, where that is known: dead entries lie before it. */
function boundsOf({ bounds }: Stretch): Part {
  if (!bounds) return { text: '' };
  const { highest, lowest, since } = bounds;
  const conditions: (readonly [text: string, value: unknown])[] = [];
  if (highest === lowest) conditions.push([' and f.prioridade = ?', highest]);
  else {
    if (highest < highestOfAll) conditions.push([' and f.prioridade <= ?', highest]);
    if (lowest > lowestOfAll) conditions.push([' and f.prioridade >= ?', lowest]);
  }
  if (since !== undefined) conditions.push([' and f.data_hora >= ?', sqlTime(since)]);
  return {
    text: conditions.map(([text]) => text).join(''),
    values: conditions.map(([, value]) => value),
  };
}
