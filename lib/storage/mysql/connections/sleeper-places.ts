/** How many processes of a queue can be woken; others poll. */
export const mostPlaces = 64;

const places = JSON.stringify(Array.from({ length: mostPlaces }, (_, place) => place));

/**
 * Numbers of places, and the session that sleeps at each. Parameters: the prefix of the places' locks, and those of the condition.
 *
 * @param condition SQL over `place.n`
 */
export function sleeperPlaces(condition: string): string {
  return `-- name: sleeper_places
select place.n from json_table('${places}', '$[*]' columns (n int path '$')) place where ${condition} order by rand()`;
}

/** Ids of the sessions that sleep. Parameters: the prefix of the places' locks. */
export const findSleepers = `-- name: find_sleepers
select found.id from (
  select is_used_lock(concat(?, place.n)) as id
  from json_table('${places}', '$[*]' columns (n int path '$')) place
) found where found.id is not null`;
