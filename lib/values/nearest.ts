/** Words of BullMQ, pg-boss and the like, in small letters, for what has another name here. */
const otherWords: ReadonlyMap<string, string> = new Map([
  ['name', 'topic'],
  ['type', 'topic'],
  ['jobname', 'topic'],
  ['taskname', 'topic'],
  ['data', 'payload'],
  ['body', 'payload'],
  ['message', 'payload'],
  ['jobid', 'unique'],
  ['singletonkey', 'unique'],
  ['jobkey', 'unique'],
  ['key', 'unique'],
  ['dedupekey', 'unique'],
  ['idempotencykey', 'unique'],
  ['deduplication', 'unique'],
  ['delay', 'delayMs'],
  ['startafter', 'runAt'],
  ['runafter', 'runAt'],
  ['scheduledat', 'runAt'],
  ['eta', 'runAt'],
  ['attempts', 'maxAttempts'],
  ['retries', 'maxAttempts'],
  ['maxretries', 'maxAttempts'],
  ['retrylimit', 'maxAttempts'],
  ['backoff', 'retryDelayMs'],
  ['retrydelay', 'retryDelayMs'],
  ['timeout', 'timeoutMs'],
  ['pattern', 'cron'],
  ['tz', 'timezone'],
  ['startdate', 'startsAt'],
  ['enddate', 'endsAt'],
  ['redis', 'connection'],
]);

/** The known name that other libraries' word stands for, or that is nearest to a mistyped one; undefined when none is near. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const meant = otherWords.get(wanted);
  if (meant !== undefined && names.includes(meant)) return meant;
  const begun = names.filter((known) => wanted.length >= 3 && known.startsWith(wanted));
  if (begun.length === 1) return begun[0];
  let best: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const known of names) {
    const steps = distance(wanted, known.toLowerCase());
    if (steps < least) [best, least] = [known, steps];
  }
  return best;
}

/** Letters to add, drop, change or swap with their neighbour. */
function distance(one: string, other: string): number {
  let [before, above]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
          ? (before?.[column - 2] ?? Infinity) + 1
          : Infinity;
      line[column] = Math.min(
        (above?.[column] ?? Infinity) + 1,
        (line[column - 1] ?? Infinity) + 1,
        (above?.[column - 1] ?? Infinity) + same,
        swapped,
      );
    }
    [before, above] = [above, line];
  }
  return above?.[other.length] ?? Infinity;
}
