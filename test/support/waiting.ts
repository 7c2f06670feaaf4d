import { setTimeout as pause } from 'node:timers/promises';
import type { QueueEventMap, QueueEventName, QueueEvents } from '../../lib/index.js';

/** Resolves with the first event that matches. */
export function nextEvent<Name extends QueueEventName>(
  events: QueueEvents,
  name: Name,
  matches: (event: QueueEventMap[Name]) => boolean = () => true,
): Promise<QueueEventMap[Name]> {
  return new Promise((resolve) => {
    const stop = events.on(name, (event) => {
      if (!matches(event)) return;
      stop();
      resolve(event);
    });
  });
}

/** Asks until the answer is given: for what only the database can tell. Fails after `withinMs`. */
export async function until<T>(
  ask: () => Promise<T | undefined | false | null>,
  what: string,
  withinMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
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
