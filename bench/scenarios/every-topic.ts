import type { Scenario } from '../scenario.js';
import { drain, drainColumns } from './working.js';

const onePerQueue = 'it polls each queue by itself, and one worker cannot hold so many';
const eachNeedsConnections = 'each queue needs a worker with connections of its own';

/** As many topics as a large system has customers, all of them with tasks, and one handler for them all. */
export const everyTopic: readonly Scenario[] = [1, 100, 20_000, 100_000].map((topics): Scenario => {
  const routes = topics.toLocaleString('en');
  return {
    name: `routes of one handler: ${routes}`,
    about:
      `A backlog of 200,000 tasks spread over ${routes} topic${topics === 1 ? '' : 's'}, all handled by one method: ` +
      'tarefa’s `@TaskHandler()` without a topic, by age and shared out fairly; graphile-worker has a list of task ' +
      'identifiers with the same function for each. A run is cut after 60 s.',
    peers: ['tarefa, every topic', 'tarefa, every topic fair', 'graphile-worker, tuned'],
    skips: {
      'pg-boss': onePerQueue,
      'bullmq on redis': eachNeedsConnections,
      'bullmq on postgres': eachNeedsConnections,
      bare: 'its statement takes one topic',
    },
    columns: drainColumns,
    topics,
    run: (stage, size) =>
      drain(
        stage,
        size === 'full' ? { tasks: 200_000, limitSeconds: 60 } : { tasks: 100_000, limitSeconds: 30 },
      ),
  };
});
