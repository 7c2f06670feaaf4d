import { describe, expect, test } from 'vitest';
import type { Bell, SentMessages } from '../../../lib/coordination/bell.js';
import { MemoryBell } from '../../../lib/coordination/memory/memory-bell.js';
import { LivingWorkers, MemoryLiveness } from '../../../lib/coordination/memory/memory-liveness.js';
import { MemoryDatabase } from '../../../lib/storage/memory/memory-database.js';
import { nextTurn } from '../../../lib/timing/signal.js';
import { collect } from '../../storage/conformance/contract-test.js';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import type { OpenBells, OpenLiveness } from './opened.js';

// A bell or a liveness without one of its guards fails the suite that states it.

/**
 * Turns of the event loop after which nothing comes any more: in memory neither a timer nor a connection is waited for, so what
 * is rung is heard within a few turns, on every machine.
 */
const mostTurns = 100;

async function silence(): Promise<never> {
  for (let turn = 0; turn < mostTurns; turn += 1) await nextTurn();
  throw new Error('nothing more is heard');
}

/** The title of the first test that fails; undefined when none does. One that hears nothing would wait for ever. */
async function firstFailure(suite: () => void): Promise<string | undefined> {
  for (const { title, run } of collect(suite)) {
    const passed = await Promise.race([run(), silence()]).then(
      () => true,
      () => false,
    );
    if (!passed) return title;
  }
  return undefined;
}

type BellMutant = readonly [name: string, breaks: (bell: MemoryBell) => void];

const bellMutants: readonly BellMutant[] = [
  ['it rings for nobody', (bell) => (bell.ring = async () => undefined)],
  [
    'an order is rung as any ring',
    (bell) => {
      const ring = bell.ring.bind(bell);
      bell.ring = async (topic: keyof SentMessages, message: never) =>
        ring(topic, topic === 'tasks' ? {} : message);
    },
  ],
  [
    'it rings on every topic',
    (bell) => {
      const ring = bell.ring.bind(bell);
      bell.ring = async (_topic: keyof SentMessages, message: never) => {
        for (const topic of ['tasks', 'looks', 'waits', 'ends'] as const) await ring(topic, message);
      };
    },
  ],
  [
    'a listener cannot be stopped',
    (bell) => {
      const listen = bell.listen.bind(bell);
      bell.listen = (async (topic: 'ends', heard: (id: string) => void) => {
        await listen(topic, heard);
        return async () => undefined;
      }) as Bell['listen'];
    },
  ],
];

describe('bells', () => {
  test('one that works passes', async () => {
    const open: OpenBells = async () => {
      const bell = new MemoryBell();
      return { one: bell, other: bell, stranger: new MemoryBell() };
    };
    expect(await firstFailure(() => exerciseBell(open))).toBeUndefined();
  });

  test.each(bellMutants)('%s', async (_, breaks) => {
    const open: OpenBells = async () => {
      const bell = new MemoryBell();
      breaks(bell);
      return { one: bell, other: bell, stranger: new MemoryBell() };
    };
    expect(await firstFailure(() => exerciseBell(open))).toEqual(expect.any(String));
  });

  test('queues share their bells', async () => {
    const open: OpenBells = async () => {
      const bell = new MemoryBell();
      return { one: bell, other: bell, stranger: bell };
    };
    expect(await firstFailure(() => exerciseBell(open))).toEqual(expect.any(String));
  });
});

type LivenessMutant = readonly [name: string, breaks: (liveness: MemoryLiveness) => void];

const livenessMutants: readonly LivenessMutant[] = [
  ['every worker looks alive', (one) => (one.findMissing = async () => nothingMissing)],
  ['others that are asked for are left out', (one) => narrow(one)],
  ['a routine runs beside another one', (one) => (one.exclusively = async (_routine, work) => work())],
  [
    'one turn stands for all routines',
    (one) => {
      const exclusively = one.exclusively.bind(one);
      one.exclusively = async (_routine, work) => exclusively('isolate', work);
    },
  ],
  [
    'a routine that fails keeps its turn',
    (one) => {
      const exclusively = one.exclusively.bind(one);
      one.exclusively = async (routine, work) => {
        let failed: { readonly error: unknown } | undefined;
        const turn = exclusively(routine, async () => {
          try {
            return await work();
          } catch (error) {
            failed = { error };
            return new Promise<never>(() => undefined);
          }
        });
        const done = await Promise.race([turn, nextTurn()]);
        if (failed) throw failed.error;
        return done === undefined ? undefined : turn;
      };
    },
  ],
  ['it is alive for ever', (one) => Object.defineProperty(one, 'alive', { get: () => true })],
  ['its release does nothing', (one) => (one.release = async () => undefined)],
];

const nothingMissing = { missing: [], noted: false, hasOthers: false, atMs: 0, notifyUsage: undefined };

function narrow(one: MemoryLiveness): void {
  const findMissing = one.findMissing.bind(one);
  one.findMissing = async () => findMissing([]);
}

describe('liveness', () => {
  const suiteOf = (breaks: (liveness: MemoryLiveness) => void) => (): void => {
    const open: OpenLiveness = async () => {
      const living = new LivingWorkers();
      const { workers } = new MemoryDatabase({ name: 'tasks', now: () => 1, living: living.ids });
      const [one, other] = [new MemoryLiveness(living, workers), new MemoryLiveness(living, workers)];
      breaks(one);
      breaks(other);
      return { one, other, workers };
    };
    exerciseLiveness(open);
    exerciseRelease(open);
  };

  test('one that works passes', async () => {
    expect(await firstFailure(suiteOf(() => undefined))).toBeUndefined();
  });

  test.each(livenessMutants)('%s', async (_, breaks) => {
    expect(await firstFailure(suiteOf(breaks))).toEqual(expect.any(String));
  });
});
