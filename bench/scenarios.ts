import type { Scenario } from './scenario.js';
import { backlogs } from './scenarios/backlog.js';
import { dashboards } from './scenarios/dashboard.js';
import { drains } from './scenarios/drain.js';
import { enhancers } from './scenarios/enhancers.js';
import { enqueues } from './scenarios/enqueue.js';
import { fanOuts } from './scenarios/fan-out.js';
import { heldSnapshot } from './scenarios/held-snapshot.js';
import { idle } from './scenarios/idle.js';
import { partitions } from './scenarios/partitions.js';
import { purge } from './scenarios/purge.js';
import { retryStorm } from './scenarios/retry-storm.js';
import { routes } from './scenarios/routes.js';
import { transactions } from './scenarios/transaction.js';
import { webhooks } from './scenarios/webhooks.js';
import { waits } from './scenarios/wait.js';
import { weight } from './scenarios/weight.js';

/** Everything that is measured, in the order of the report. */
export const scenarios: readonly Scenario[] = [
  ...drains,
  ...transactions,
  ...enqueues,
  ...waits,
  ...backlogs,
  heldSnapshot,
  ...routes,
  enhancers,
  ...fanOuts,
  webhooks,
  retryStorm,
  purge,
  ...partitions,
  ...dashboards,
  idle,
  weight,
];
