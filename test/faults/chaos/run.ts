import { setTimeout as pause } from 'node:timers/promises';
import { WorkerSlot, type Mishap } from './fleet.js';
import type { Ground } from './ground/ground.js';
import { now, readHistory } from './history.js';
import { judge, orderedKeys } from './judge.js';
import type { Nemesis } from './nemesis/nemesis.js';
import { processFaults } from './nemesis/processes.js';
import { workloadFaults } from './nemesis/workload.js';
import { isWanted, type ChaosOptions } from './options.js';
import { violation, type Violation } from './oracles/oracle.js';
import { idleResources, nothingLeft, type ServerResources } from './oracles/resources.js';
import { seededRandom } from './prng.js';
import { countFaults, countRows, countTasks, measureRecovery, type ChaosReport } from './report.js';
import { Schedule } from './schedule.js';
import { buildStage, pollIntervalMs, purgeMaxAgeDays, type Stage } from './stage.js';
import { Watch } from './watch.js';

/** Every kind of fault that there is on that database. */
function faultsOn(ground: Ground): readonly Nemesis[] {
  return [...processFaults, ...ground.faults, ...workloadFaults];
}

/** How a run is followed and ended early. */
export interface RunHooks {
  /** The compiled `test/support/children/chaos-worker.js`. */
  readonly program: string;
  readonly say: (line: string) => void;
  /** Receives what takes everything down. */
  readonly opened: (close: () => Promise<void>) => void;
}

const drainMs = 120_000;
const settleMs = 1_500;

/**
 * One chaos run: workload and faults for a while, then the faults end, everything drains, and every invariant is
 * judged.
 */
export async function runChaos(options: ChaosOptions, hooks: RunHooks): Promise<ChaosReport> {
  const { say, program, opened } = hooks;
  const random = seededRandom(options.seed);
  const started = performance.now();
  const stage = await buildStage(options, random.fork(), program, opened);
  const { ground } = stage;
  const kinds = faultsOn(ground).filter(({ kind }) => isWanted(options, kind));
  try {
    const watch = new Watch(stage);
    const schedule = new Schedule(kinds, options);
    watch.start();
    stage.producer.start(options.rate);
    const telling = setInterval(() => {
      const hit = schedule.strikes.filter((strike) => strike.hit !== undefined).length;
      const { missing } = schedule;
      const few = missing.length > 0 && missing.length <= 3 ? ` (${missing.join(', ')})` : '';
      say(
        `${Math.round((performance.now() - started) / 1_000)} s: ${hit} hits, ${missing.length} kinds missing some${few}, backlog ${stage.backlog}; ${schedule.underWay.join(', ')}`,
      );
    }, 10_000);
    try {
      await schedule.run(stage, random.fork());
      await stage.producer.stop();
    } finally {
      clearInterval(telling);
      await watch.stop();
    }
    const seconds = Math.round((performance.now() - started) / 1_000);
    say('the faults are over');
    // A start may have failed on a machine that is too busy.
    if (!ground.isUp) await ground.start();
    for (const slot of stage.slots) slot.order({ type: 'disarm' });
    await endRecurring(stage);
    const drainSeconds = await drain(stage);
    const found: Violation[] = [...watch.violations];
    found.push(...(await leave(stage)));
    await takeInOrder(stage, program);

    const history = readHistory(stage.historyFolder);
    const evidence = { db: await ground.evidence(), history };
    found.push(...(await judge(evidence, { purgeMaxAgeDays, pollIntervalMs })));
    found.push(...nothingLeft(await resourcesOnceGone(stage)));
    found.push(
      ...violation('I15', 'a worker process ended, or did not end, against the rules', stage.mishaps),
    );
    const count = (what: RegExp): number =>
      found.filter((one) => what.test(one.what)).reduce((sum, one) => sum + one.count, 0);
    return {
      seed: options.seed,
      options,
      seconds,
      drainSeconds,
      tasks: countTasks(history),
      rows: await countRows(evidence),
      lost: count(/acknowledged task does not exist/),
      doubled: count(/effect more than once/),
      stuck: count(/never ended/),
      recovery: await measureRecovery(evidence),
      faults: countFaults(
        kinds.map(({ kind }) => kind),
        schedule.strikes,
      ),
      neverHit: schedule.missing,
      violations: found,
      schedule: schedule.strikes,
    };
  } finally {
    await stage.close();
  }
}

/** Waits until what recurs has caught up, and lets nothing recur any more. */
async function endRecurring({ ground, history, recursFrom }: Stage): Promise<void> {
  const started = performance.now();
  let to: number | undefined;
  while (to === undefined && performance.now() - started < drainMs) {
    to = await ground.ask.endRecurring().catch(() => undefined);
    if (to === undefined) await pause(200);
  }
  history.write({ event: 'recurred', from: recursFrom, to: to ?? now().wall });
}

/** Waits until nothing is left to do; returns how many seconds it took. */
async function drain({ ground, slots }: Pick<Stage, 'ground' | 'slots'>): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < drainMs) {
    const left = await ground.ask.countUnfinished().catch(() => undefined);
    if (left === 0 && slots.every((slot) => slot.process)) break;
    await pause(200);
  }
  return Number(((performance.now() - started) / 1_000).toFixed(1));
}

/** Looks at idle workers, then closes them: each has to end by itself. */
async function leave(stage: Stage): Promise<readonly Violation[]> {
  await pause(settleMs);
  const reports = await Promise.all(stage.slots.map((slot) => slot.report(5_000)));
  const found = idleResources(
    reports,
    await stage.ground.ask.resources(),
    stage.poolSize,
    stage.ground.mostConnections(stage.poolSize),
  );
  await Promise.all(stage.slots.map((slot) => slot.close()));
  return found;
}

/** A frozen queue, one worker, one task at a time: what I8 says about order is judged by what it takes first. */
async function takeInOrder(stage: Stage, program: string): Promise<void> {
  const { ground, history, historyFolder, workerParts } = stage;
  const count = 40;
  for (let n = 0; n < count; n += 1) {
    history.write({ event: 'attempted', key: `${orderedKeys}${n}`, kind: 'plain', wall: now().wall });
  }
  await ground.ask.insertUnordered(orderedKeys, count);
  const mishaps: Mishap[] = [];
  const slot = await WorkerSlot.start(
    { ...workerParts, historyFolder, program, options: { ...workerParts.options, concurrency: 1 } },
    mishaps,
  );
  try {
    await slot.ready(30_000);
    await drain({ ground, slots: [slot] });
    await slot.close();
  } finally {
    await slot.end();
  }
}

/** The server notices a moment later that connections are gone. */
async function resourcesOnceGone({ ground }: Stage): Promise<ServerResources> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const resources = await ground.ask.resources();
    if (resources.connections + resources.locks === 0 || performance.now() > deadline) return resources;
    await pause(200);
  }
}
