import { expect, test } from 'vitest';
import { describeStep } from './describe-step.js';
import { explore } from './explore.js';
import { rules, type Rules } from './rules.js';
import { poisoned, world } from './settings.js';
import { isUnfinished, type Claim, type Row } from './state.js';
import type { Setting } from './step.js';

// What each guard is there for: without it the exploration finds a state that must not be, and the shortest way to
// it. A guard whose mutant finds nothing would be a guard that the model does not need, or does not see.

const one: Setting = { ...world, tasks: ['transaction'], workers: 2, faults: 1 };

const isProcessing = ({ status }: Row): boolean => status === 'processing';
const isOf = (row: Row, { worker, reservation }: Claim): boolean =>
  row.executor === worker && row.reservation === reservation;

interface Mutant {
  readonly name: string;
  readonly without: Partial<Rules>;
  readonly finds: string;
  readonly setting?: Partial<Setting>;
  /** The shortest way there, where it tells a story. */
  readonly trace?: readonly string[];
}

const mutants: readonly Mutant[] = [
  {
    name: 'complete by id alone',
    without: { mayComplete: () => true },
    finds: 'a double effect',
    trace: [
      'insert A',
      'worker 0: settle and claim, claims A1',
      'worker 0: kill, on its way: commit A1',
      'worker 1: find lost worker 0',
      'worker 1: recover',
      'promote',
      'worker 0: late commit arrives A1',
      'worker 1: settle and claim, claims A2',
      'worker 1: commit A2',
    ],
  },
  {
    name: 'complete by status alone, without executor and reserva',
    without: { mayComplete: isProcessing },
    finds: 'an outcome was written under a claim that did not hold the row',
    setting: { faultKinds: ['give back by hand'] },
    trace: [
      'insert A',
      'worker 0: settle and claim, claims A1',
      'give back by hand A1',
      'worker 0: settle and claim, claims A1',
      'worker 0: commit A1',
    ],
  },
  {
    name: 'complete without reserva',
    without: { mayComplete: (row, { worker }) => isProcessing(row) && row.executor === worker },
    finds: 'an outcome was written under a claim that did not hold the row',
    setting: { faultKinds: ['give back by hand'] },
  },
  {
    name: 'fail without status: a completion that came first is overwritten',
    without: { mayFail: isOf },
    finds: 'illegal transition succeeded>failed',
  },
  {
    name: 'fail without status: and its effect is repeated',
    without: { mayFail: isOf },
    finds: 'a double effect',
  },
  {
    name: 'recover without the fence: the attempt of a worker that lives is failed',
    without: { mayFail: isProcessing },
    finds: 'an outcome was written under a claim that did not hold the row',
    setting: { faults: 2 },
    trace: [
      'insert A',
      'worker 0: lose session',
      'worker 0: lose control, on its way: settle',
      'worker 0: late statement arrives, claims A1',
      'worker 0: compare',
      'worker 1: find lost worker 0',
      'worker 0: give back unknown',
      'worker 1: settle and claim, claims A1',
      'worker 1: recover',
    ],
  },
  {
    name: 'release without status: a task that has ended meanwhile runs again',
    without: { mayRelease: isOf },
    finds: 'a double effect',
  },
  {
    name: 'claim whatever does not run',
    without: { mayClaim: ({ status }) => status !== 'processing' && status !== 'scheduled' },
    finds: 'a double effect',
  },
  {
    name: 'claim without a new reserva',
    without: { nextReservation: ({ reservation }) => reservation },
    finds: 'two workers have the same claim',
    setting: { faultKinds: ['give back by hand'] },
  },
  {
    name: 'a lost COMMIT taken for a rollback, and completed again in a batch',
    without: { outcome: () => 'again' },
    finds: 'a success without its effect',
  },
  {
    name: 'retry without a limit',
    without: { isRetried: () => true },
    finds: 'more attempts than there may be',
  },
  {
    name: 'retry without a limit for lost workers',
    without: { isRetried: (row, { most, final }) => !final && row.attempt < most },
    finds: 'more losses than there may be',
    setting: { ...poisoned, maxAttempts: 100 },
  },
  {
    name: 'losses not counted',
    without: { nextLosses: () => 0 },
    finds: 'an innocent was buried',
    setting: poisoned,
  },
  {
    name: 'no isolation',
    without: { isIsolated: () => false },
    finds: 'an innocent was buried',
    setting: poisoned,
  },
  { name: 'bury dead chains too', without: { isBuried: () => true }, finds: 'a second dead chain' },
  { name: 'never bury', without: { isBuried: () => false }, finds: 'a chain died without a dead chain' },
  {
    name: 'purge whatever has ended',
    without: { mayPurge: (rows, place) => isEnded(rows[place]) },
    finds: 'an attempt without its payload',
  },
  {
    name: 'purge whatever has ended and holds no payload of its own chain',
    without: {
      mayPurge: (rows, place) => {
        const first = rows[place]?.first ?? place;
        const isMember = (other: Row, at: number): boolean => at === first || other.first === first;
        return isEnded(rows[place]) && !rows.some((other, at) => isMember(other, at) && isUnfinished(other));
      },
    },
    finds: 'the chain that died was purged too early',
  },
  { name: 'no recovery', without: { recovers: false }, finds: 'stuck: the tasks cannot end' },
  {
    name: 'no comparison of table and memory',
    without: { compares: 'never' },
    finds: 'stuck: the tasks cannot end',
    trace: [
      'insert A',
      'worker 0: lose control, on its way: settle',
      'worker 0: late statement arrives, claims A1',
    ],
  },
  {
    name: 'a comparison after a loss only, while the old backend goes on',
    without: { compares: 'after a loss', endsOldBackend: false },
    finds: 'stuck: the tasks cannot end',
  },
  {
    name: 'release without reserva, while the old backend goes on',
    without: {
      endsOldBackend: false,
      mayRelease: (row, { worker }) => isProcessing(row) && row.executor === worker,
    },
    finds: 'an outcome was written under a claim that did not hold the row',
    setting: { faults: 2, workers: 1, faultKinds: ['lose control'] },
  },
];

test.each(mutants)('without its guard: $name', ({ without, finds, setting, trace }) => {
  const { wrong } = explore({ ...one, ...setting, only: finds, rules: { ...rules, ...without } });
  expect(wrong?.what).toBe(finds);
  const walked = wrong?.trace.map(describeStep);
  expect(walked).toEqual(trace ?? walked);
});

test.each<{ readonly name: string; readonly without: Partial<Rules>; readonly setting?: Partial<Setting> }>([
  {
    name: 'an old backend that goes on: the comparison at every poll finds what it has claimed',
    without: { endsOldBackend: false },
  },
  {
    name: 'no comparison at polls: the old backend was ended before the one after the loss',
    without: { compares: 'after a loss' },
  },
  {
    name: 'completing by status alone: a row leaves `processando` once, so there is no double effect',
    without: { mayComplete: isProcessing },
    setting: {
      faultKinds: ['give back by hand', 'kill', 'lose session', 'lose commit'],
      only: 'a double effect',
    },
  },
])('of two guards one is enough: $name', ({ without, setting }) => {
  const { wrong } = explore({ ...one, faults: 2, ...setting, rules: { ...rules, ...without } });
  expect(wrong?.trace.map(describeStep)).toBeUndefined();
});

function isEnded(row: Row | undefined): boolean {
  return row !== undefined && !row.purged && !isUnfinished(row);
}
