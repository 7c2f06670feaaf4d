import type { Scenario } from '../scenario.js';
import { oursOnly } from './ours-only.js';
import { drain } from './working.js';

const ourOwn = 'measured for this library’s own two ways to call a handler only';

/** What guards, pipes and the like cost: a handler that uses none of them is called directly. */
export const enhancers: Scenario = {
  name: 'enhancers',
  about:
    'A backlog of 100,000 tasks whose handler does nothing, worked off by one process with `concurrency: 1000`: ' +
    'called directly, and with what Nest can put around it, one at a time.',
  peers: [
    'tarefa, called directly',
    'tarefa, @Payload with a pipe',
    'tarefa, @Payload with ValidationPipe',
    'tarefa, guard and interceptor',
    'tarefa, request scope',
    'tarefa, schema',
  ],
  skips: oursOnly(ourOwn),
  columns: ['perSecond', 'workerCpuPer10k', 'postgresCpuPer10k', 'peakRssMb', 'otherCores'],
  run: (stage, size) => drain(stage, { tasks: size === 'full' ? 100_000 : 20_000, limitSeconds: 30 }),
};
