import { expect, test } from 'vitest';
import { describeStep } from './describe-step.js';
import { explore } from './explore.js';
import { poisoned, world } from './settings.js';
import type { Setting, Step } from './step.js';

// Every state that the queue can get into in these worlds is visited. In each the invariants hold (I2, I3, I4, I5,
// I6, I7, I9, I12, I13 of the fault catalogue), and from each all tasks can still end.
const settings: readonly (Setting & { readonly name: string; readonly atLeast: number })[] = [
  { ...world, name: 'two tasks, three workers, two faults', faults: 2, atLeast: 300_000 },
  {
    ...world,
    name: 'one task with every kind of end, three faults',
    tasks: ['transaction'],
    maxDeadAttempts: 2,
    finals: true,
    faults: 3,
    atLeast: 40_000,
  },
  {
    ...world,
    name: 'a row given back by hand while its worker runs it',
    tasks: ['transaction'],
    faults: 3,
    faultKinds: ['give back by hand', 'kill', 'lose control'],
    atLeast: 5_000,
  },
  {
    ...poisoned,
    name: 'a task that kills its worker each time, and two others',
    tasks: ['poison', 'innocent', 'transaction'],
    atLeast: 10_000,
  },
  {
    ...poisoned,
    name: 'a task that may kill more workers than the queue lets it',
    maxAttempts: 100,
    atLeast: 500,
  },
];

const seen = new Set<Step['kind']>();

test.each(settings)(
  'whatever happens: $name',
  ({ atLeast, ...setting }) => {
    const { states, transitions, kinds, wrong } = explore(setting);
    expect({ ...wrong, trace: wrong?.trace.map(describeStep) }).toEqual({ trace: undefined });
    expect(states).toBeGreaterThan(atLeast);
    expect(transitions).toBeGreaterThan(states);
    for (const kind of kinds) seen.add(kind);
  },
  300_000,
);

test('every step that the model has was taken', () => {
  expect([...seen].sort()).toEqual([
    'commit',
    'compare',
    'find lost',
    'flush failures',
    'give back by hand',
    'give back unknown',
    'insert',
    'kill',
    'kill itself',
    'late commit arrives',
    'late commit vanishes',
    'late statement arrives',
    'late statement vanishes',
    'lose commit',
    'lose control',
    'lose session',
    'promote',
    'purge',
    'read outcome',
    'recover',
    'restart',
    'restore session',
    'settle and claim',
    'succeed',
    'throw',
  ]);
});
