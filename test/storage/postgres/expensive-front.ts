import { beforeEach, vi } from 'vitest';
import { QueueAccess } from '../../../lib/storage/postgres/queue-access.js';

/** What is known of the last claim, and the clock that it is timed by. */
export interface ExpensiveFront {
  /** False when the last claim started at the front of its routes. */
  readonly bounded: boolean;
  /** Name of the last statement. */
  readonly statement: string;
  readonly values: readonly unknown[];
  /** Done between the snapshot of the next claim and its answer. */
  meanwhile: (() => Promise<void>) | undefined;
  passTime(ms: number): void;
}

/**
 * Makes the front of the index expensive, as dead entries do: a claim from there takes a second by the clock, any other a
 * moment. So after the first claim the next ones start where it ended, until time has passed for a sweep.
 */
export function useExpensiveFront(): ExpensiveFront {
  let ahead = 0;
  const front = {
    bounded: false,
    statement: '',
    values: [] as readonly unknown[],
    meanwhile: undefined as (() => Promise<void>) | undefined,
    passTime: (ms: number): void => void (ahead += ms),
  };
  beforeEach(() => {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    const ask = Reflect.get<QueueAccess, 'ask'>(QueueAccess.prototype, 'ask');
    vi.spyOn(QueueAccess.prototype, 'ask').mockImplementation(async function timed(
      this: QueueAccess,
      ...args
    ) {
      const rows = await ask.apply(this, args);
      const [{ name }, values] = args;
      if (!name.startsWith('tarefa_settle_and_claim')) return rows;
      const { meanwhile } = front;
      Object.assign(front, { bounded: name.endsWith('_bounded'), statement: name, values });
      front.meanwhile = undefined;
      await meanwhile?.();
      if (!front.bounded) ahead += 1_000;
      return rows;
    });
  });
  return front;
}
