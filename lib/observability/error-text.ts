import { failureMessage, isError } from '../values/failure-text.js';
import { cleanText } from './clean-text.js';

const longestMessage = 500;
const longestFrame = 300;
const mostFrames = 15;
const mostCauses = 3;
/** Characters at the end of a stack that are looked at: its frames stand behind the message, however long that is. */
const stackEnd = 8_000;

/**
 * What an error says, in one line. A thrown object that is not an Error is not shown: it could be the payload itself.
 * Never throws.
 */
export function errorText(error: unknown): string {
  if (isOpaque(error)) return 'a non-Error value was thrown';
  return cleanText(failureMessage(error), longestMessage);
}

/** True for what has no message of its own. */
export function isOpaque(error: unknown): boolean {
  return (typeof error === 'object' || typeof error === 'function') && error !== null && !isError(error);
}

/**
 * Where an error and its causes came from, a line for each frame. Properties of errors are left out: drivers and HTTP
 * clients keep rows, parameters and headers there. Never throws.
 */
export function errorStack(error: unknown): string | undefined {
  try {
    const lines = linesOf(error);
    return lines.length === 0 ? undefined : lines.join('\n');
  } catch {
    return undefined;
  }
}

function linesOf(error: unknown): readonly string[] {
  const lines: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth <= mostCauses && isError(current); depth += 1) {
    if (depth > 0) lines.push(`caused by ${cleanText(current.name, 100)}: ${errorText(current)}`);
    lines.push(...framesOf(current.stack));
    current = current.cause;
  }
  return lines;
}

/** Only what looks like frames: the rest of a stack is the message, which may hold any text. */
function framesOf(stack: unknown): readonly string[] {
  if (typeof stack !== 'string') return [];
  return stack
    .slice(-stackEnd)
    .split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .slice(0, mostFrames)
    .map((line) => `    ${cleanText(line.trim(), longestFrame)}`);
}
