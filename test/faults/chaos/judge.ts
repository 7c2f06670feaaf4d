import { bounded, chainShape, deadOnce } from './oracles/chains.js';
import { deliveredOnce } from './oracles/deliveries.js';
import { effectsMatch, effectsOnce, transactionsAlone } from './oracles/effects.js';
import { enqueued } from './oracles/enqueued.js';
import { hostileRowsRest } from './oracles/hostile-rows.js';
import { nothingStuck } from './oracles/liveness.js';
import { occurrencesOnce } from './oracles/occurrences.js';
import { betterFirst, strictOrder } from './oracles/order.js';
import type { Evidence, Oracle, Violation } from './oracles/oracle.js';
import { oneWorkerAtOnce } from './oracles/overlap.js';
import { payloadsResolve, purgedWhatMay } from './oracles/payloads.js';
import { readRows } from './schema.js';
import { legalOnly } from './oracles/transitions.js';

/** What the judges must know of how the run was set up. */
export interface Rules {
  readonly purgeMaxAgeDays: number;
  readonly pollIntervalMs: number;
}

/** Keys of the tasks that a single worker was given at the end, to take in order. */
export const orderedKeys = 'ordered-';

/** Beside the poll: the two clocks, an answer on its way to the producer. */
const slackMs = 2_000;

/** Every invariant that can be judged from table and history once all is drained. */
export function allOracles({ purgeMaxAgeDays, pollIntervalMs }: Rules): readonly Oracle[] {
  return [
    enqueued,
    effectsOnce,
    effectsMatch,
    oneWorkerAtOnce,
    chainShape,
    deadOnce,
    bounded,
    betterFirst(pollIntervalMs + slackMs),
    strictOrder(orderedKeys),
    legalOnly,
    nothingStuck,
    hostileRowsRest,
    deliveredOnce,
    payloadsResolve,
    purgedWhatMay(purgeMaxAgeDays),
    transactionsAlone,
    occurrencesOnce,
  ];
}

/** Asks all judges. */
export async function judge(evidence: Evidence, rules: Rules): Promise<readonly Violation[]> {
  await readRows(evidence.db);
  const found: Violation[] = [];
  for (const oracle of allOracles(rules)) found.push(...(await oracle(evidence)));
  return found;
}
