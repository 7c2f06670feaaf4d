import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { moments, pointedMethods, type PointAction } from '../failpoints.js';
import { pickAny, pickBusy, type Nemesis, type World } from './nemesis.js';

const killWorker: Nemesis = {
  kind: 'kill worker',
  strike: async (world, random) => {
    const busy = await pickBusy(world, random);
    if (!busy) return undefined;
    busy.slot.signal('SIGKILL');
    await busy.slot.gone(5_000);
    return `${busy.rows} rows in flight`;
  },
};

const restartWorker: Nemesis = {
  kind: 'restart worker (SIGTERM)',
  group: 'restart',
  strike: async (world, random) => {
    const busy = await pickBusy(world, random);
    if (!busy) return undefined;
    return (await busy.slot.restart()) ? `${busy.rows} rows in flight` : undefined;
  },
};

const freezeWorker: Nemesis = {
  kind: 'freeze worker (SIGSTOP)',
  strike: async (world, random) => {
    const busy = await pickBusy(world, random);
    if (!busy) return undefined;
    const { slot, rows } = busy;
    const { pid } = slot;
    // Now and then longer than it takes to be given up.
    const ms = random.chance(0.3) ? random.whole(3_000, 5_000) : random.whole(200, 1_500);
    slot.signal('SIGSTOP');
    await pause(ms);
    if (slot.pid === pid) slot.signal('SIGCONT');
    return `${rows} rows in flight, ${ms} ms`;
  },
};

const blockLoop: Nemesis = {
  kind: 'block event loop',
  strike: async (world, random) => {
    const busy = await pickBusy(world, random);
    if (!busy) return undefined;
    const ms = random.whole(300, 1_200);
    const heard = busy.slot.hear('blocked', ms + 8_000);
    busy.slot.order({ type: 'block', ms });
    return (await heard) ? `${busy.rows} rows in flight, ${ms} ms` : undefined;
  },
};

const skewClock: Nemesis = {
  kind: 'skew clock',
  strike: async (world, random) => {
    const slot = pickAny(world, random);
    const before = await slot?.report();
    if (!slot || !before) return undefined;
    const ms = random.pick([-1, 1]) * random.whole(60_000, 600_000);
    slot.order({ type: 'skew', ms });
    await pause(random.whole(500, 2_000));
    const after = await slot.report();
    slot.order({ type: 'skew', ms: 0 });
    const started = (after?.started ?? 0) - before.started;
    return started > 0 ? `${started} attempts started with a clock ${ms} ms off` : undefined;
  },
};

/** Boots are left alone: without storage there is no queue to judge. Closing has nothing in flight. */
const points = pointedMethods()
  .filter((name) => !/^(database\.(prepare|close)|workers\.register|liveness\.hold)$/.test(name))
  .flatMap((name) => moments.map((moment) => `${name}:${moment}`));

/** Calls of every second; the others may not come within the time that a point waits. */
const frequent =
  /^(claims\.settleAndClaim|attempts\.(failMany|promote|heldBy|fanOutMany)|workers\.confirmLost|transaction\.(query|complete)|transactions\.completeIn|liveness\.)/;
const oftenReached = points.filter((point) => frequent.test(point));

/** How long an armed point waits for its call. */
const pointWaitsMs = 3_500;

function failpoint(kind: string, action: PointAction): Nemesis {
  return {
    kind,
    strike: async (world, random) => {
      const slot = pickAny(world, random);
      if (!slot) return undefined;
      const { pid } = slot;
      const point = random.pick(random.chance(0.9) ? oftenReached : points);
      const pauseMs = random.whole(200, 2_500);
      const reached = slot.hear('reached', pointWaitsMs, (word) => word.point === point);
      slot.order({ type: 'arm', point: { point, action, hit: random.whole(1, 3), pauseMs } });
      if (action === 'kill') await slot.gone(pointWaitsMs);
      const isHit = action === 'kill' ? diedAt(world, pid, point) : (await reached) !== undefined;
      slot.order({ type: 'disarm' });
      return isHit ? point : undefined;
    },
  };
}

/** Whether the last act of that process was to write down the point. */
function diedAt({ historyFolder }: World, pid: number, point: string): boolean {
  const text = readFileSync(join(historyFolder, `worker-${pid}.jsonl`), 'utf8');
  return text.includes(`"event":"failpoint","point":"${point}"`);
}

/** Faults of worker processes. */
export const processFaults: readonly Nemesis[] = [
  killWorker,
  restartWorker,
  freezeWorker,
  blockLoop,
  skewClock,
  failpoint('failpoint kills worker', 'kill'),
  failpoint('failpoint loses answer', 'error'),
  failpoint('failpoint pauses call', 'pause'),
];
