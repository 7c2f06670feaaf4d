import { afterEach, describe, expect, test } from 'vitest';
import type { Bell } from '../../../lib/coordination/bell.js';
import type { Liveness } from '../../../lib/coordination/liveness.js';
import { collect } from '../../storage/conformance/contract-test.js';
import { replaced } from '../../storage/conformance/mutant.js';
import { deferred } from '../../support/waiting.js';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { usePostgresQueues } from './open-postgres.js';
import type { OpenBells } from './opened.js';

// A bell or a liveness without one of its guards fails the suite that states it.

const { openBells, openSessions } = await usePostgresQueues();

/** A test that hears nothing waits for ever: one that takes so long has failed. Those before it hear at once. */
const silenceMs = 1_000;

/** The title of the first test that fails; undefined when none does. */
async function firstFailure(suite: () => void): Promise<string | undefined> {
  for (const { title, run } of collect(suite)) {
    const passed = await new Promise<boolean>((resolve) => {
      const silence = setTimeout(() => resolve(false), silenceMs);
      void run()
        .then(
          () => resolve(true),
          () => resolve(false),
        )
        .finally(() => clearTimeout(silence));
    });
    if (!passed) return title;
  }
  return undefined;
}

type BellMutant = readonly [name: string, breaks: (own: Bell) => Partial<Bell>];

const bellMutants: readonly BellMutant[] = [
  ['it rings for nobody', () => ({ ring: async () => undefined })],
  [
    'an order is rung as any ring',
    (own) => ({
      ring: (topic, message) => (topic === 'tasks' ? own.ring('tasks', {}) : own.ring(topic, message)),
    }),
  ],
  [
    'an end is rung as a look, too',
    (own) => ({
      ring: async (topic, message) => {
        await own.ring(topic, message);
        if (topic === 'ends') await own.ring('looks', message as string);
      },
    }),
  ],
  [
    'a listener cannot be stopped',
    (own) => ({
      listen: async (...listener) => {
        await own.listen(...listener);
        return async () => undefined;
      },
    }),
  ],
];

describe('bells', () => {
  test.each(bellMutants)('%s', async (_, breaks) => {
    const open: OpenBells = async () => {
      const { one, other, stranger } = await openBells();
      return {
        one: replaced(one, breaks(one)),
        other: replaced(other, breaks(other)),
        stranger,
      };
    };
    expect(await firstFailure(() => exerciseBell(open))).toEqual(expect.any(String));
  });

  test('queues share their bells', async () => {
    const open: OpenBells = async () => {
      const { one, other } = await openBells();
      return { one, other, stranger: one };
    };
    expect(await firstFailure(() => exerciseBell(open))).toEqual(expect.any(String));
  });
});

type LivenessMutant = readonly [name: string, breaks: (own: Liveness) => Partial<Liveness>];

/** Ends the turns that a mutant has kept. */
const giveBack: (() => void)[] = [];
afterEach(() => {
  for (const end of giveBack.splice(0)) end();
});

const nothingMissing = { missing: [], noted: false, hasOthers: false, atMs: 0, notifyUsage: undefined };

const livenessMutants: readonly LivenessMutant[] = [
  ['every worker looks alive', () => ({ findMissing: async () => nothingMissing })],
  ['others that are asked for are left out', (own) => ({ findMissing: () => own.findMissing([]) })],
  ['a routine runs beside another one', () => ({ exclusively: (_routine, work) => work() })],
  [
    'one turn stands for all routines',
    (own) => ({ exclusively: (_routine, work) => own.exclusively('isolate', work) }),
  ],
  [
    'a routine that fails keeps its turn',
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
  ['it is alive for ever', () => ({ alive: true })],
  ['its release does nothing', () => ({ release: async () => undefined })],
];

describe('liveness', () => {
  test.each(livenessMutants)('%s', async (_, breaks) => {
    const suite = (): void => {
      const open: typeof openSessions = async () => {
        const { one, other, workers } = await openSessions();
        return { one: replaced(one, breaks(one)), other: replaced(other, breaks(other)), workers };
      };
      exerciseLiveness(open);
      exerciseRelease(open);
    };
    expect(await firstFailure(suite)).toEqual(expect.any(String));
  });
});
