import type { Scenario } from './scenario.js';
import { backlogs } from './scenarios/backlog.js';
import { dashboards } from './scenarios/dashboard.js';
import { drains } from './scenarios/drain.js';
import { endToEnd } from './scenarios/end-to-end.js';
import { enhancers } from './scenarios/enhancers.js';
import { enqueues } from './scenarios/enqueue.js';
import { fanOuts } from './scenarios/fan-out.js';
import { heldSnapshot } from './scenarios/held-snapshot.js';
import { everyTopic } from './scenarios/every-topic.js';
import { idles } from './scenarios/idle.js';
import { isolated } from './scenarios/isolated.js';
import { longPayloads } from './scenarios/long-payload.js';
import { partitions } from './scenarios/partitions.js';
import { purge } from './scenarios/purge.js';
import { retryStorm } from './scenarios/retry-storm.js';
import { routes } from './scenarios/routes.js';
import { slowHandlers } from './scenarios/slow-handlers.js';
import { start } from './scenarios/start.js';
import { transactions } from './scenarios/transaction.js';
import { uniqueKeys } from './scenarios/unique-keys.js';
import { webhooks } from './scenarios/webhooks.js';
import { waits } from './scenarios/wait.js';
import { weight } from './scenarios/weight.js';

/** Everything that is measured, in the order of the report. */
export const scenarios: readonly Scenario[] = [
  ...drains,
  endToEnd,
  ...transactions,
  ...enqueues,
  ...uniqueKeys,
  ...waits,
  ...backlogs,
  start,
  ...longPayloads,
  slowHandlers,
  ...isolated,
  heldSnapshot,
  ...routes,
  ...everyTopic,
  enhancers,
  ...fanOuts,
  ...webhooks,
  retryStorm,
  purge,
  ...partitions,
  ...dashboards,
  ...idles,
  weight,
];
