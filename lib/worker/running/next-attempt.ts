import { isPromise } from 'node:util/types';
import { hasCode, RetryAt, RetryIn, Snooze, UnrecoverableError } from '../../errors.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { NextAttempt, RetryTime } from '../../storage/attempt.js';
import type { HandlerRules } from '../../subscribers/handler-registry.js';
import { failureMessage } from '../../values/failure-text.js';
import { safely } from '../../values/safely.js';
import { shownValue } from '../../values/shown-value.js';

type Warn = (problem: string) => void;

/** The last year that is written with four digits. */
const latestTime = Date.UTC(9999, 11, 31);
/** A thousand years: PostgreSQL's calendar ends, too. */
const longestDelay = 1_000 * 365 * 86_400_000;

/**
 * When a failed attempt is followed by the next one. Never throws.
 *
 * @param warn told what was asked for and cannot be done: then the next rule counts. Default: nobody
 */
export function nextAttempt(
  error: unknown,
  attempt: number,
  rules: HandlerRules | undefined,
  options: Pick<WorkerOptions, 'retryIntervalMinutes'>,
  warn: (problem: string) => void = () => undefined,
): NextAttempt {
  if (safely(() => isHopeless(error), false)) return { kind: 'never' };
  const date = safely(() => readRetryAt(error, warn), undefined);
  if (date) return { kind: 'at', date };
  const delayMs =
    safely(() => readRetryIn(error, warn), undefined) ??
    (rules?.retryDelay && safeDelay(rules.retryDelay, attempt, warn));
  if (delayMs !== undefined) return { kind: 'after-failure', delayMs };
  // Numbered below the first by SQL, it gets no delay into the past.
  const delayMinutes = Math.max(0, attempt) * options.retryIntervalMinutes;
  return { kind: 'after-due', delayMs: Math.min(longestDelay, delayMinutes * 60_000) };
}

/** Until when an attempt waits that has not failed; undefined where its handler threw anything else. Never throws. */
export function snoozedUntil(error: unknown, warn: Warn): RetryTime | undefined {
  return safely(() => {
    if (!isA(error, Snooze)) return undefined;
    const { until } = error;
    if (typeof until === 'number' && Number.isFinite(until)) {
      return { kind: 'after-failure', delayMs: Math.min(longestDelay, Math.max(0, until)) };
    }
    const time = until instanceof Date ? until.getTime() : Number.NaN;
    if (!Number.isNaN(time)) return { kind: 'at', date: new Date(Math.min(latestTime, Math.max(0, time))) };
    warn(`Snooze was thrown with ${shownValue(until)}, which is neither a number of milliseconds nor a date`);
    return undefined;
  }, undefined);
}

/** A payload does not change between attempts, so more of them are useless. */
function isHopeless(error: unknown): boolean {
  return (
    isA(error, UnrecoverableError) || hasCode(error, 'PAYLOAD_TOO_LARGE') || hasCode(error, 'PAYLOAD_INVALID')
  );
}

/** The time that a `RetryAt` asks for, cut to years that every PostgreSQL reads; undefined for other errors. */
function readRetryAt(error: unknown, warn: Warn): Date | undefined {
  if (!isA(error, RetryAt)) return undefined;
  const time = new Date(error.date).getTime();
  if (!Number.isNaN(time)) return new Date(Math.min(latestTime, Math.max(0, time)));
  warn('RetryAt was thrown with an invalid date');
  return undefined;
}

/** The wait that a `RetryIn` asks for; undefined for other errors, and for an invalid wait. */
function readRetryIn(error: unknown, warn: Warn): number | undefined {
  if (!isA(error, RetryIn)) return undefined;
  const { delayMs } = error;
  if (Number.isFinite(delayMs)) return Math.min(longestDelay, Math.max(0, delayMs));
  warn(`RetryIn was thrown with ${shownValue(delayMs)}, which is not a number of milliseconds`);
  return undefined;
}

/** By name as well: an application may hold two copies of this library. */
function isA<T extends Error>(error: unknown, type: new (...args: never[]) => T): error is T {
  return error instanceof type || (error instanceof Error && error.name === type.name);
}

/** A user's rule that throws or answers nonsense must not lose the failure: then the queue's own rule counts. */
function safeDelay(rule: (attempt: number) => unknown, attempt: number, warn: Warn): number | undefined {
  const mostMs = 10 * 365 * 86_400_000;
  try {
    const delayMs = rule(attempt);
    if (typeof delayMs === 'number' && Number.isFinite(delayMs))
      return Math.min(mostMs, Math.max(0, delayMs));
    // It may be rejected, which nobody waits for.
    if (isPromise(delayMs)) delayMs.catch(() => undefined);
    const answer = isPromise(delayMs) ? 'a promise' : shownValue(delayMs);
    warn(`its retry function returned ${answer}, which is not a number of milliseconds`);
  } catch (error) {
    warn(`its retry function threw: ${failureMessage(error)}`);
  }
  return undefined;
}
