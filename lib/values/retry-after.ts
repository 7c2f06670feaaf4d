/** What a receiver's wish is held to. */
export interface RetryAfterBounds {
  /** Ms that would be waited without it; it is never less. */
  readonly baseMs: number;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: number;
}

/** A receiver that says "next year" is not obeyed. */
const longestMs = 24 * 3_600_000;

/** `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms that HTTP still knows. */
const dateShape = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/;

/**
 * Ms from now that a receiver asks to wait, by its header `Retry-After`: seconds or a date. Never less than the
 * base, nor more than 24 hours (or the base, where that is longer). Undefined when the header says nothing.
 */
export function retryAfterMs(
  header: string | undefined,
  { baseMs, now = Date.now() }: RetryAfterBounds,
): number | undefined {
  const askedMs = readHeader(header?.trim() ?? '', now);
  if (askedMs === undefined) return undefined;
  return Math.max(baseMs, Math.min(longestMs, askedMs));
}

/** Fractions are not in the standard, but in the wild, and mean what they say. */
function readHeader(text: string, now: number): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  if (!dateShape.test(text)) return undefined;
  // The oldest form names no time zone; all are GMT.
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time - now;
}
