import type { Failure, FailureOutcome } from './attempt.js';
import type { QueueDatabase } from './database.js';
import { blamesRow } from './error-kind.js';

/** What became of failures that were to be written. */
export interface WrittenFailures {
  readonly outcomes: readonly FailureOutcome[];
  /** Failures that the database refuses, each tried alone and as plain as can be, with the error of the last try. */
  readonly refused: readonly { readonly failure: Failure; readonly error: unknown }[];
  /** Failures that were not tried to the end, for a later call. */
  readonly left: readonly Failure[];
  /** Why they were not: the database cannot be used now. Undefined when it only took too many statements. */
  readonly error: unknown;
}

/** One call sends at most this many statements: a table that refuses every failure must not keep a worker from claiming. */
const mostStatements = 24;

const plainMessage = 'failed; its error could not be stored';

/**
 * Writes failures, each batch by one statement; a batch is of failed or of snoozed attempts. A batch that the database refuses is halved, so that a row that cannot be
 * failed (by a trigger of the user's, or by a value that its encoding lacks) holds up no other.
 */
export async function writeFailures(
  database: Pick<QueueDatabase, 'attempts' | 'classify'>,
  batches: readonly (readonly Failure[])[],
): Promise<WrittenFailures> {
  const waiting = batches.filter(({ length }) => length > 0).reverse();
  const outcomes: FailureOutcome[] = [];
  const refused: { failure: Failure; error: unknown }[] = [];
  for (let statements = 0; statements < mostStatements; statements += 1) {
    const batch = waiting.pop();
    if (!batch) break;
    try {
      const { attempts } = database;
      outcomes.push(...(await (batch[0]?.snoozed ? attempts.snoozeMany(batch) : attempts.failMany(batch))));
    } catch (error) {
      const kind = database.classify(error);
      if (!blamesRow(kind))
        return { outcomes, refused, left: [...batch, ...waiting.reverse().flat()], error };
      const [first] = batch;
      const plain = first && kind === 'value' ? asPlain(first) : undefined;
      if (batch.length > 1) waiting.push(...halves(batch));
      else if (plain) waiting.push([plain]);
      else if (first) refused.push({ failure: first, error });
    }
  }
  return { outcomes, refused, left: waiting.reverse().flat(), error: undefined };
}

/** The first half last: it is the next to be taken. */
function halves(batch: readonly Failure[]): readonly (readonly Failure[])[] {
  const half = Math.ceil(batch.length / 2);
  return [batch.slice(half), batch.slice(0, half)];
}

/**
 * A failure of which the database refused a value, written more plainly: first without looking at its payload, then without
 * texts, its next attempt counted from now. Undefined when it cannot be plainer.
 */
function asPlain(failure: Failure): Failure | undefined {
  if (!failure.untouched) return { ...failure, untouched: true };
  if (failure.message === plainMessage) return undefined;
  const { next } = failure;
  const plainNext = next && 'delayMs' in next ? ({ ...next, kind: 'after-failure' } as const) : next;
  return { ...failure, message: plainMessage, error: null, next: plainNext };
}
