/** The columns that decide an attempt's round. */
export interface RoundRow {
  readonly id: string;
  readonly previousId: string | null;
  readonly firstId: string | null;
  readonly dead: boolean;
  readonly liveId: string | null;
  readonly publicationId: string | null;
  readonly subscriptionId: string | null;
  readonly attempt: number | null;
  readonly exhausted: boolean;
  readonly round: number;
}

/** Replays count rounds up by one; duplicates are this far apart, so that a replay of one never meets another. */
export const copyDistance = 1_000;

/**
 * Tells duplicates apart: two next attempts of one attempt, two dead chains of one task, two deliveries of a publication to
 * one subscription. The first keeps its round. Each later one, and every attempt that follows from it, gets a round of its
 * own: 1,000, 2,000 and so on. So each goes on and ends as a chain of its own.
 *
 * @param rows all attempts of one task with its dead chains, or of one publication and subscription
 * @returns the rounds that change
 */
export function assignRounds(rows: readonly RoundRow[]): ReadonlyMap<string, number> {
  const sorted = [...rows].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const rounds = new Map<string, number>();
  const taken = new Set<string>();
  let highest = sorted.reduce((most, { round }) => Math.max(most, round), 0);
  for (const row of sorted) {
    const fits = (round: number): boolean => keysOf(row, round).every((key) => !taken.has(key));
    let round = candidates(row, sorted, rounds).find(fits);
    if (round === undefined) {
      highest = (Math.floor(highest / copyDistance) + 1) * copyDistance;
      round = highest;
    }
    rounds.set(row.id, round);
    for (const key of keysOf(row, round)) taken.add(key);
  }
  return new Map(
    sorted.filter(({ id, round }) => rounds.get(id) !== round).map(({ id }) => [id, rounds.get(id) ?? 0]),
  );
}

/** The keys of the unique indexes. Nulls are never equal there. */
function keysOf(row: RoundRow, round: number): readonly string[] {
  const { previousId, dead, liveId, publicationId, subscriptionId, attempt } = row;
  const keys: string[] = [];
  if (previousId !== null) keys.push(`successor ${previousId} ${round}`);
  if (dead && previousId === null && liveId !== null) keys.push(`dead ${liveId} ${round}`);
  if (publicationId !== null && subscriptionId !== null && attempt !== null) {
    keys.push(`delivery ${publicationId} ${round} ${dead} ${attempt} ${liveId ?? 0} ${subscriptionId}`);
  }
  return keys;
}

/** Rounds to try, best first: its own where it has one, that of what it follows from, none. */
function candidates(
  row: RoundRow,
  sorted: readonly RoundRow[],
  rounds: ReadonlyMap<string, number>,
): readonly number[] {
  if (row.round > 0) return [row.round];
  const before = row.previousId === null ? undefined : rounds.get(row.previousId);
  if (before !== undefined) return [before];
  if (!row.dead || row.liveId === null) return [0];
  // A dead chain belongs to a chain that has run out of attempts, which may be a dead one.
  const ended = sorted.filter((other) => other.exhausted && (other.firstId ?? other.id) === row.liveId);
  const known = ended.flatMap(({ id }) => rounds.get(id) ?? []);
  return known.length === 0 ? [0] : known;
}
