import { afterEach, describe, expect, test } from 'vitest';
import type { Bell, SentMessages } from '../../../lib/coordination/bell.js';
import type { Liveness } from '../../../lib/coordination/liveness.js';
import { collect, type ContractTest } from '../../storage/conformance/contract-test.js';
import { firstFailure, replaced } from '../../storage/conformance/mutant.js';
import { deferred } from '../../support/waiting.js';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { usePostgresQueues } from './open-postgres.js';
import type { OpenBells, OpenLiveness } from './opened.js';

// A bell or a liveness without one of its guards fails the test that states it, and no test before.

const { openBells, openSessions } = await usePostgresQueues();

type BellMutant = readonly [
  name: string,
  fails: string,
  breaks: (own: Bell) => Partial<Bell>,
  /** What the test that fails hears. */
  hears: 'nothing' | 'too much',
];

const bellMutants: readonly BellMutant[] = [
  [
    'it rings for nobody',
    'a ring for tasks is heard by every listener, that of its own process included',
    () => ({ ring: async () => undefined }),
    'nothing',
  ],
  [
    'an order is rung as any ring',
    'the order halt is heard as such, though rings for tasks go out beside it',
    (own) => ({
      ring: (topic, message) => {
        if (topic !== 'tasks') return own.ring(topic, message);
        return own.ring('tasks', { ...(message as SentMessages['tasks']), halt: false, changed: false });
      },
    }),
    'nothing',
  ],
  [
    'an end is rung as a look, too',
    'a ring of one topic is not heard on another',
    (own) => ({
      ring: async (topic, message) => {
        await own.ring(topic, message);
        if (topic === 'ends') await own.ring('looks', message as string);
      },
    }),
    'too much',
  ],
  [
    'a listener cannot be stopped',
    'after its stop a listener hears nothing, and the others go on',
    (own) => ({
      listen: async (...listener) => {
        await own.listen(...listener);
        return async () => undefined;
      },
    }),
    'too much',
  ],
];

/** So often the same test passes with whole bells before one that still waits is taken for silent: both go as fast as the machine. */
const passes = 20;

/** Runs a test that hears nothing where a mutant is caught; fails when whole bells were heard so often meanwhile. */
async function runSilent({ title, run }: ContractTest): Promise<void> {
  const openWhole: OpenBells = async () => {
    const { one, stranger } = await openBells();
    // Of another queue, whose rings the mutant's test does not hear.
    return { one: stranger, other: stranger, stranger: one };
  };
  const whole = collect(() => exerciseBell(openWhole)).find((one) => one.title === title);
  const state = { isOver: false };
  const own = run().finally(() => (state.isOver = true));
  own.catch(() => undefined);
  for (let count = 0; count < passes && !state.isOver; count += 1) await whole?.run();
  if (!state.isOver) throw new Error(`it hears nothing: ${title}`);
  await own;
}

describe('bells', () => {
  test.each(bellMutants)('%s', async (_, fails, breaks, hears) => {
    const open: OpenBells = async () => {
      const { one, other, stranger } = await openBells();
      return {
        one: replaced(one, breaks(one)),
        other: replaced(other, breaks(other)),
        stranger,
      };
    };
    const run = (one: ContractTest): Promise<void> =>
      hears === 'nothing' && one.title === fails ? runSilent(one) : one.run();
    expect(await firstFailure(exerciseBell, open, run)).toBe(fails);
  });

  test('queues share their bells', async () => {
    const open: OpenBells = async () => {
      const { one, other } = await openBells();
      return { one, other, stranger: one };
    };
    expect(await firstFailure(exerciseBell, open)).toBe('a ring of another queue is not heard');
  });

  test('a bell that is whole is not taken for a silent one', async () => {
    const silent = bellMutants.flatMap(([, fails, , hears]) => (hears === 'nothing' ? [fails] : []));
    const run = (one: ContractTest): Promise<void> =>
      silent.includes(one.title) ? runSilent(one) : one.run();
    expect(await firstFailure(exerciseBell, openBells, run)).toBeUndefined();
  });
});

type LivenessMutant = readonly [name: string, fails: string, breaks: (own: Liveness) => Partial<Liveness>];

/** Ends the turns that a mutant has kept. */
const giveBack: (() => void)[] = [];
afterEach(() => {
  for (const end of giveBack.splice(0)) end();
});

const nothingMissing = { missing: [], noted: false, hasOthers: false, atMs: 0, notifyUsage: undefined };

const oneAtATime = 'a routine runs in one worker at a time';
const untilRelease = 'it is alive from its hold to its release';

const livenessMutants: readonly LivenessMutant[] = [
  [
    'every worker looks alive',
    'workers that live are not missing; one that was only written down is',
    () => ({ findMissing: async () => nothingMissing }),
  ],
  [
    'others that are asked for are left out',
    'one that has stopped is not missing, unless it is asked for',
    (own) => ({ findMissing: () => own.findMissing([]) }),
  ],
  ['a routine runs beside another one', oneAtATime, () => ({ exclusively: (_routine, work) => work() })],
  [
    'one turn stands for all routines',
    oneAtATime,
    (own) => ({ exclusively: (_routine, work) => own.exclusively('isolate', work) }),
  ],
  [
    'a routine that fails keeps its turn',
    'a routine that fails gives its turn back',
    (own) => ({
      exclusively: (routine, work) =>
        new Promise((resolve, reject) => {
          const turn = own.exclusively(routine, () =>
            work().catch((error: unknown) => {
              reject(error);
              const kept = deferred();
              giveBack.push(() => kept.resolve());
              return kept.promise as never;
            }),
          );
          void turn.then(resolve, reject);
        }),
    }),
  ],
  ['it is alive for ever', untilRelease, () => ({ alive: true })],
  ['its release does nothing', untilRelease, () => ({ release: async () => undefined })],
];

describe('liveness', () => {
  test.each(livenessMutants)('%s', async (_, fails, breaks) => {
    const open: OpenLiveness = async () => {
      const { one, other, workers } = await openSessions();
      return { one: replaced(one, breaks(one)), other: replaced(other, breaks(other)), workers };
    };
    const suite = (opens: OpenLiveness): void => {
      exerciseLiveness(opens);
      exerciseRelease(opens);
    };
    expect(await firstFailure(suite, open)).toBe(fails);
  });
});
