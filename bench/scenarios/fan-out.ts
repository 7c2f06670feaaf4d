import type { Outcome, Scenario } from '../scenario.js';
import type { Stage } from '../stage.js';
import { median } from '../statistics.js';
import { loopFigures } from './working.js';

const noFanOut = 'it has no fan-out in the database: a publisher sends one job per subscriber';
const skips = {
  'graphile-worker': noFanOut,
  'pg-boss':
    'its publish() sends one job per subscribed queue from the publisher, each queue polled by itself',
  'bullmq on redis': noFanOut,
  'bullmq on postgres': noFanOut,
  bare: noFanOut,
};

/** One publication becomes a delivery per subscription. */
export const fanOuts: readonly Scenario[] = [
  fanOut(10, 50),
  fanOut(1_000, 10),
  fanOut(5_000, 10),
  fanOut(100_000, 2),
];

function fanOut(subscriptions: number, publications: number): Scenario {
  return {
    name: `fan-out: ${subscriptions.toLocaleString('en')}`,
    about:
      `One publication to ${subscriptions.toLocaleString('en')} subscriptions, ${publications} times: ms from the ` +
      'call that publishes until all deliveries exist, and deliveries made per second of that. ' +
      (subscriptions > 1_000
        ? 'They are for other workers: nothing handles them here.'
        : 'They are all handled before the next publication.'),
    peers: ['tarefa, fan-out'],
    skips,
    columns: ['medianMs', 'maxMs', 'perSecond', 'loopP99Ms', 'loopMaxMs'],
    lessIsBetter: true,
    topics: subscriptions,
    run: (stage) => publish(stage, subscriptions, publications),
  };
}

async function publish(stage: Stage, subscriptions: number, publications: number): Promise<Outcome> {
  const handled = subscriptions <= 1_000;
  await stage.desk.call('subscribe', subscriptions);
  await stage.settle();
  const worker = await stage.addWorker();
  await worker.work('empty', 0);
  const times: number[] = [];
  // The first one is not counted: connecting, preparing and planning.
  for (let index = 0; index <= publications; index += 1) {
    const ms = await stage.desk.call('publish', 1);
    if (index > 0) times.push(ms);
    else await worker.process.call('watchLoop');
    if (handled) await stage.desk.call('waitUntilDone', 30_000);
  }
  const worked = await worker.process.call('worked');
  const medianMs = median(times);
  const perSecond = (subscriptions / medianMs) * 1_000;
  return {
    figures: {
      ...{ medianMs, maxMs: Math.max(...times), perSecond, tasks: subscriptions * publications },
      ...loopFigures([worked]),
    },
  };
}
