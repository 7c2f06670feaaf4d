/** What became of work with many of which some are refused. */
export interface Halved<T> {
  /** Each alone to blame, with the error of its own try. */
  readonly refused: readonly { readonly one: T; readonly error: unknown }[];
  /** Those that were not tried to the end. */
  readonly left: readonly T[];
}

/**
 * Does one piece of work with many; what is refused is halved, until those are alone that are to blame: fewer tries than there
 * are many, as long as few are refused.
 *
 * @param work throws when it did nothing
 * @param isToBlame whether one of them may be what an error is about; any other error ends it all
 * @param mostTries after which the others are left
 */
export async function byHalves<T>(
  all: readonly T[],
  work: (some: readonly T[]) => Promise<unknown>,
  isToBlame: (error: unknown, some: readonly T[]) => boolean,
  mostTries = Infinity,
): Promise<Halved<T>> {
  const waiting = all.length === 0 ? [] : [all];
  const refused: { one: T; error: unknown }[] = [];
  for (let tries = 0; tries < mostTries; tries += 1) {
    const some = waiting.pop();
    if (!some) break;
    try {
      await work(some);
    } catch (error) {
      if (!isToBlame(error, some)) throw error;
      const half = Math.ceil(some.length / 2);
      const [first] = some;
      // The first half last: it is the next to be tried.
      if (some.length > 1) waiting.push(some.slice(half), some.slice(0, half));
      else if (first !== undefined) refused.push({ one: first, error });
    }
  }
  return { refused, left: waiting.reverse().flat() };
}
