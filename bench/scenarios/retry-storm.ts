import type { Scenario } from '../scenario.js';
import { drain } from './working.js';

/** Failures cost a write each, and must not stop what else there is to do. */
export const retryStorm: Scenario = {
  name: 'retry storm',
  about:
    'Every task of a backlog of 20,000 fails at its first attempt and succeeds at the second; the rate counts tasks ' +
    'that are done, retry delays included. Delays: tarefa and BullMQ 100 ms, pg-boss at once (its default), ' +
    'graphile-worker 2.7 s (fixed: e to the power of the attempts, in seconds). A run is cut after 20 s.',
  peers: [
    'tarefa, retry',
    'graphile-worker',
    'graphile-worker, preset',
    'pg-boss, retry',
    'bullmq on redis, retry',
    'bullmq on postgres, retry',
  ],
  skips: { bare: 'it has no retries' },
  columns: [
    'perSecond',
    'workerCpuPer10k',
    'postgresCpuPer10k',
    'redisCpuPer10k',
    'walBytesPerTask',
    'peakRssMb',
  ],
  run: (stage, size) =>
    drain(stage, {
      tasks: size === 'full' ? 20_000 : 5_000,
      kind: 'fail-once',
      limitSeconds: size === 'full' ? 20 : 10,
    }),
};
