import type { Scenario } from '../scenario.js';
import { oursOnly } from './ours-only.js';

const ourOwn = 'it delivers no webhooks';
const endpoints = 50;
const publications = 40;
const hanging = 10;

/** Whether endpoints that hang keep healthy ones waiting. */
export const webhooks: Scenario = {
  name: 'webhooks',
  about:
    `${publications} publications to ${endpoints} endpoints, 2,000 signed requests by one worker: deliveries of the healthy ` +
    `endpoints per second, when all answer and when ${hanging} of them take requests and never answer.`,
  peers: ['tarefa, webhooks', 'tarefa, webhooks that hang'],
  skips: oursOnly(ourOwn),
  columns: ['perSecond', 'seconds', 'tasks'],
  topics: endpoints,
  run: async (stage) => {
    await stage.desk.call('subscribe', endpoints);
    await stage.settle();
    const worker = await stage.addWorker();
    await worker.work('empty', 0);
    const seconds = (await stage.desk.call('publish')) / 1_000;
    const healthy = stage.peer.setting === 'webhooks that hang' ? endpoints - hanging : endpoints;
    const tasks = healthy * publications;
    return { figures: { perSecond: tasks / seconds, seconds, tasks } };
  },
};
