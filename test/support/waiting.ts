import { clearTimeout as cancel, setTimeout as later } from 'node:timers';
import { setTimeout as pause } from 'node:timers/promises';
import type { QueueEventMap, QueueEventName, QueueEvents } from '../../lib/index.js';

/** Of the real clock, as the timers are: tests move the one that the library reads. */
const now = performance.now.bind(performance);

/**
 * Resolves with the first event that matches from now on. Fails `withinMs` after this call, if there was none; a failure that
 * nobody awaits is none.
 */
export function nextEvent<Name extends QueueEventName>(
  events: QueueEvents,
  name: Name,
  matches: (event: QueueEventMap[Name]) => boolean = () => true,
  withinMs = 20_000,
): Promise<QueueEventMap[Name]> {
  // Its stack leads to the test, which that of a timer does not.
  const missing = new Error(`not within ${withinMs} ms: the event ${name}`);
  const next = new Promise<QueueEventMap[Name]>((resolve, reject) => {
    const stop = events.on(name, (event) => {
      if (!matches(event)) return;
      stop();
      cancel(timer);
      resolve(event);
    });
    const timer = later(() => {
      stop();
      reject(missing);
    }, withinMs).unref();
  });
  next.catch(() => undefined);
  return next;
}

/**
 * Asks until the answer is given: for what only the database can tell. Fails after `withinMs`.
 *
 * @param what is waited for; a function says as well how it stands then
 */
export async function until<T>(
  ask: () => Promise<T | undefined | false | null>,
  what: string | (() => string),
  withinMs = 20_000,
): Promise<T> {
  const deadline = now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (now() > deadline)
      throw new Error(`not within ${withinMs} ms: ${typeof what === 'string' ? what : what()}`);
    await pause(20);
  }
}

/** A promise and the functions that settle it. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((ok, no) => {
    resolve = ok;
    reject = no;
  });
  return { promise, resolve, reject };
}
