/** A parameter that is {@link jsonIds}, as rows of one column `id`. A straight join begins with them and finds the rest by its key. */
export const idList = `json_table(?, '$[*]' columns (id bigint path '$'))`;

/** {@link idList} for a select that locks, which MySQL refuses while it could lock the rows of the list as well. */
export const lockedList = `(select distinct l.id from ${idList} l)`;

/** Ids as numbers, which lose nothing as text. In one order, so that those who lock the same ones wait in no circle. */
export function idNumbers(ids: readonly string[]): string {
  return ids
    .map((id) => BigInt(id))
    .sort((a, b) => (a < b ? -1 : Number(a > b)))
    .join(',');
}

/** The parameter of {@link idList}. */
export function jsonIds(ids: readonly string[]): string {
  return `[${idNumbers(ids)}]`;
}

/** A parameter that is an id. Compared with text, a column would be read as a number that is not exact. */
export const idParameter = 'cast(? as signed)';
