import type { Outcome, Scenario } from '../scenario.js';
import type { Stage } from '../stage.js';
import { oursOnly } from './ours-only.js';

const skips = oursOnly('it delivers no webhooks');
const hanging = 10;
const columns = ['perSecond', 'seconds', 'tasks', 'workerCpuPer10k', 'peakRssMb'] as const;

/** Requests to endpoints of others. */
export const webhooks: readonly Scenario[] = [
  {
    name: 'webhooks',
    about:
      '40 publications to 50 endpoints, 2,000 signed requests by one worker: deliveries of the healthy endpoints per ' +
      `second, when all answer and when ${hanging} of them take requests and never answer.`,
    peers: ['tarefa, webhooks', 'tarefa, webhooks that hang'],
    skips,
    columns,
    run: (stage) => deliver(stage, 50, 40),
  },
  manyEndpoints(50),
  manyEndpoints(10_000),
];

/** The same number of requests, whatever the number of endpoints. */
function manyEndpoints(endpoints: number): Scenario {
  return {
    name: `webhooks: ${endpoints.toLocaleString('en')} endpoints`,
    about: `20,000 signed requests by one worker: ${(20_000 / endpoints).toLocaleString('en')} publications to ${endpoints.toLocaleString('en')} endpoints.`,
    peers: ['tarefa, webhooks'],
    skips,
    columns,
    run: (stage, size) => deliver(stage, endpoints, (size === 'full' ? 20_000 : 10_000) / endpoints),
  };
}

async function deliver(stage: Stage, endpoints: number, publications: number): Promise<Outcome> {
  await stage.desk.call('subscribe', endpoints);
  await stage.settle();
  const worker = await stage.addWorker();
  await worker.work('empty', 0);
  const seconds = (await stage.desk.call('publish', publications)) / 1_000;
  const { cpuSeconds, peakRssBytes } = await worker.process.call('worked');
  const healthy = stage.peer.setting === 'webhooks that hang' ? endpoints - hanging : endpoints;
  const tasks = healthy * publications;
  return {
    figures: {
      perSecond: tasks / seconds,
      seconds,
      tasks,
      workerCpuPer10k: (cpuSeconds / tasks) * 10_000,
      peakRssMb: peakRssBytes / 2 ** 20,
    },
  };
}
