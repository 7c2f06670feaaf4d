import { inspect } from 'node:util';
import { hasCode, RetryAt, RetryIn, TarefaError, UnrecoverableError } from '../../errors.js';
import type { NextAttempt } from '../../storage/attempt.js';
import type { HandlerRules } from '../../subscribers/handler-registry.js';
import type { Task } from '../../task.js';
import type { WorkerOptions } from '../../options/worker-options.js';

/** Characters kept of an error with its stack. */
const longestError = 8_000;
/** Characters kept of a message: what the column takes. */
const longestMessage = 500;

/** The last year that is written with four digits. */
const latestTime = Date.UTC(9999, 11, 31);
/** A thousand years: PostgreSQL's calendar ends, too. */
const longestDelay = 1_000 * 365 * 86_400_000;
const indescribable = 'the handler threw something that cannot be described';

/** What a handler returned, as it is recorded. */
export interface RecordedReturn {
  readonly message: string;
  readonly result: string | null;
}

/** What is recorded when a handler returns nothing. */
export const defaultMessage = 'completed';

/**
 * Reads a handler's return value: nothing, a message, or a result.
 *
 * @throws {TarefaError} `PAYLOAD_NOT_SERIALISABLE`, `PAYLOAD_TOO_LARGE`
 */
export function readReturn(value: unknown, maxBytes: number): RecordedReturn {
  if (value === undefined || value === null) return { message: defaultMessage, result: null };
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  const result = stringify(value);
  if (Buffer.byteLength(result) > maxBytes) {
    throw new TarefaError(
      'PAYLOAD_TOO_LARGE',
      `the handler's result has ${Buffer.byteLength(result)} bytes, more than maxPayloadBytes (${maxBytes})`,
    );
  }
  return { message: defaultMessage, result };
}

/** The text of whatever a handler threw, cut to what the message column takes. Never throws. */
export function failureMessage(error: unknown): string {
  const read = (): string => {
    // Its type says text; whoever made the error may not.
    const text: unknown = error instanceof Error ? error.message || error.name : describe(error);
    return cleanMessage(String(text));
  };
  return safely(read, indescribable);
}

/** The whole story for the `erro` column: stack and causes, capped. Never throws. */
export function failureDetail(error: unknown): string {
  const read = (): string =>
    error instanceof Error ? inspect(error, { depth: 3, breakLength: 120 }) : describe(error);
  return withoutNul(safely(read, indescribable)).slice(0, longestError);
}

/** When a failed attempt is followed by the next one. Never throws. */
export function nextAttempt(
  error: unknown,
  attempt: number,
  rules: HandlerRules | undefined,
  options: WorkerOptions,
): NextAttempt {
  if (safely(() => isHopeless(error), false)) return { kind: 'never' };
  const date = safely(() => readRetryAt(error), undefined);
  if (date) return { kind: 'at', date };
  const delayMs =
    safely(() => readRetryIn(error), undefined) ??
    (rules?.retryDelay && safeDelay(rules.retryDelay, attempt));
  if (delayMs !== undefined) return { kind: 'after-failure', delayMs };
  // Who writes into the table may have numbered it below the first: that is no delay into the past.
  const delayMinutes = Math.max(0, attempt) * options.retryIntervalMinutes;
  return { kind: 'after-due', delayMs: Math.min(longestDelay, delayMinutes * 60_000) };
}

/** A payload neither shrinks nor mends itself: more attempts are useless. */
function isHopeless(error: unknown): boolean {
  return (
    isA(error, UnrecoverableError) || hasCode(error, 'PAYLOAD_TOO_LARGE') || hasCode(error, 'PAYLOAD_INVALID')
  );
}

/**
 * @throws {TarefaError} `ATTEMPTS_EXHAUSTED` for an attempt that may not exist: nobody counts on it being run
 */
export function checkAttempt({ attempt }: Task, maxAttempts: number): void {
  if (attempt <= maxAttempts) return;
  throw new TarefaError(
    'ATTEMPTS_EXHAUSTED',
    `attempt ${attempt} is above maxAttempts (${maxAttempts}): it was not run`,
  );
}

/** Makes a text fit the message column: no NUL, at most 500 characters (code points, as the column counts). */
export function cleanMessage(text: string): string {
  const clean = withoutNul(text);
  if (clean.length <= longestMessage) return clean;
  // Few texts get here; a slice of UTF-16 units could cut a character in half.
  return Array.from(clean.slice(0, longestMessage * 2))
    .slice(0, longestMessage)
    .join('');
}

function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

function stringify(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return withoutNul(text);
  } catch (cause) {
    throw new TarefaError(
      'PAYLOAD_NOT_SERIALISABLE',
      `the handler's return value cannot be written as JSON: ${String(cause)}`,
      { cause },
    );
  }
  throw new TarefaError(
    'PAYLOAD_NOT_SERIALISABLE',
    `the handler returned a ${typeof value}, which cannot be written as JSON`,
  );
}

function describe(error: unknown): string {
  return typeof error === 'string' && error !== ''
    ? error
    : `the handler threw ${inspect(error, { depth: 1 })}`;
}

/** The time that a `RetryAt` asks for, cut to years that every PostgreSQL reads; undefined for other errors. */
function readRetryAt(error: unknown): Date | undefined {
  if (!isA(error, RetryAt)) return undefined;
  const time = new Date(error.date).getTime();
  return Number.isNaN(time) ? undefined : new Date(Math.min(latestTime, Math.max(0, time)));
}

/** The wait that a `RetryIn` asks for; undefined for other errors, and for a wait that is none. */
function readRetryIn(error: unknown): number | undefined {
  if (!isA(error, RetryIn)) return undefined;
  const { delayMs } = error;
  return Number.isFinite(delayMs) ? Math.min(longestDelay, Math.max(0, delayMs)) : undefined;
}

/** What a handler throws may throw in turn when it is looked at: a getter, a proxy's trap. */
function safely<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** By name as well: an application may hold two copies of this library. */
function isA<T extends Error>(error: unknown, type: new (...args: never[]) => T): error is T {
  return error instanceof type || (error instanceof Error && error.name === type.name);
}

/** A user's rule that throws or answers nonsense must not lose the failure: then the queue's own rule counts. */
function safeDelay(rule: (attempt: number) => number, attempt: number): number | undefined {
  const mostMs = 10 * 365 * 86_400_000;
  try {
    const delayMs = rule(attempt);
    return Number.isFinite(delayMs) ? Math.min(mostMs, Math.max(0, delayMs)) : undefined;
  } catch {
    return undefined;
  }
}
