import type { FakeClock } from '../../kit/fake-clock.js';
import { comes, nameOf, type Action } from './action.js';

/** Longer than workers are looked for before they are recovered; short, as what was scheduled meanwhile is due so much later. */
const off = { leastSeconds: 3, mostSeconds: 12 };
/** Processes of the server have seen the change, and their times are as exact as that. */
const seenMs = 2_000;

/** As the kind of that fault is called. */
export const clockKind = nameOf('clock set');

/** The clock of the server, by which all is due, is set forward or back, and right again. */
export function setClock(clock: FakeClock, read: () => Promise<number>): Action {
  let seconds = 0;
  let since: number | undefined;
  const shows = (ahead: number): Promise<boolean> =>
    comes(async () => Math.abs((await read()) - Date.now() - ahead * 1_000) < 1_000);
  return {
    name: 'clock set',
    // Around it the order of tasks is not judged.
    share: 0.2,
    do: async (_, random) => {
      seconds = random.pick([-1, 1]) * random.whole(off.leastSeconds, off.mostSeconds);
      since = Date.now();
      await clock.set(seconds);
      return (await shows(seconds)) ? `${seconds} s` : undefined;
    },
    undo: async ({ history }) => {
      await clock.set(0);
      await shows(0);
      const around = Math.abs(seconds) * 1_000 + seenMs;
      if (since !== undefined)
        history.write({ event: 'clock', from: since - around, to: Date.now() + around });
      since = undefined;
    },
  };
}
