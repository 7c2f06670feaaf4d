import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apply } from './apply.js';
import { backByPostgres } from './backing.js';
import { describeStep } from './describe-step.js';
import { expectedAnswer } from './expected-answer.js';
import { perform } from './perform.js';
import { probe } from './probe.js';
import { expectedPurgeable, expectedRows, RealQueue } from './real-queue.js';
import { world } from './settings.js';
import { initialState } from './state.js';
import type { Setting, Step } from './step.js';
import { stepsOf } from './steps.js';

// The model is worth what ties it to the code: random walks through it, each step done by the real storage as well,
// its answer and the whole table compared after every one;
// and after every one a statement under a claim that does not hold, which must change nothing.

const setting: Setting = {
  ...world,
  tasks: ['transaction', 'batch', 'poison', 'transaction'],
  maxAttempts: 3,
  maxDeadAttempts: 2,
  faults: 15,
  faultKinds: ['kill', 'lose session', 'lose control', 'lose commit', 'give back by hand'],
  restarts: true,
  finals: true,
};

const faults: ReadonlySet<string> = new Set(setting.faultKinds);

/** First of all whether it is a fault, then its kind, then which: else the many ways to fail would crowd out work. */
function choose(steps: readonly Step[], choice: number): Step | undefined {
  const isWanted = (step: Step): boolean => faults.has(step.kind) === (choice % 4 === 0);
  const wanted = steps.some(isWanted) ? steps.filter(isWanted) : steps;
  const kinds = [...new Set(wanted.map(({ kind }) => kind))];
  const kind = kinds[Math.floor(choice / 4) % kinds.length];
  const some = wanted.filter((step) => step.kind === kind);
  return some[Math.floor(choice / 256) % some.length];
}

const seen = new Map<Step['kind'], number>();
let queue: RealQueue;

beforeAll(async () => {
  queue = await RealQueue.start(await backByPostgres(setting.workers));
});
afterAll(() => queue?.backing.close());

test('it does what the model does, step by step', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(2 ** 20), { minLength: 40, maxLength: 80, size: 'max' }),
      async (choices) => {
        await queue.clear(setting.tasks.length);
        let state = initialState(setting.tasks.length, setting.workers, setting.faults);
        const walked: string[] = [];
        for (const choice of choices) {
          const step = choose([...stepsOf(state, setting)], choice);
          if (!step) break;
          walked.push(describeStep(step));
          seen.set(step.kind, (seen.get(step.kind) ?? 0) + 1);
          const after = apply(state, step, setting);
          const answer = await perform(queue, state, step, setting);
          const context = walked.join('\n');
          const table = await queue.read();
          const stale = await probe(queue, after, choice);
          expect({ table, context }).toEqual({ table: expectedRows(after), context });
          expect({ answer, context }).toEqual({
            answer: expectedAnswer(queue, state, after, step),
            context,
          });
          expect({ stale, context }).toEqual({ stale: [], context });
          expect({ table: await queue.read(), context }).toEqual({ table, context });
          expect(await queue.purgeable()).toEqual(expectedPurgeable(after, setting));
          state = after;
        }
      },
    ),
    // A failure is made smaller for so long.
    { numRuns: 40, interruptAfterTimeLimit: 60_000 },
  );
  // What a walk never does is not compared.
  for (const kind of compared) expect([kind, seen.get(kind)]).toEqual([kind, expect.any(Number)]);
}, 120_000);

const compared: readonly Step['kind'][] = [
  'settle and claim',
  'flush failures',
  'commit',
  'late commit arrives',
  'read outcome',
  'compare',
  'find lost',
  'give back unknown',
  'recover',
  'late statement arrives',
  'purge',
  'give back by hand',
];
