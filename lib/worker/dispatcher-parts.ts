import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { PausedRoute } from '../storage/endpoints.js';
import type { Capacity, ServedRoutes } from './claiming/routes.js';
import type { FanOut } from './fan-out.js';
import type { HaltOrder } from './halt-order.js';
import type { Executor } from './running/executor.js';
import type { Settler } from './running/settler.js';
import type { Signal } from '../timing/signal.js';
import type { WorkerOptions } from '../options/worker-options.js';
import type { HiddenRows, Outage } from './standstill.js';

/** What a dispatcher works with. */
export interface DispatcherParts {
  readonly database: Pick<QueueDatabase, 'apart' | 'attempts' | 'claimsOf' | 'classify' | 'interop'>;
  readonly bell: Pick<Bell, 'ring'>;
  readonly liveness: Pick<Liveness, 'alive' | 'exclusively'>;
  readonly executor: Pick<Executor, 'run' | 'fail'>;
  readonly fanOut: Pick<FanOut, 'deliver'>;
  readonly settler: Settler;
  readonly outage: Pick<Outage, 'error' | 'report' | 'end'>;
  readonly hidden: Pick<HiddenRows, 'found'>;
  readonly halt: Pick<HaltOrder, 'ask' | 'obey'>;
  readonly capacity: Capacity;
  readonly served: ServedRoutes;
  /** Which routes wait. Default: those that are paused. */
  readonly pausedRoutes?: (() => Promise<readonly PausedRoute[]>) | undefined;
  /** Set when there is something to do, by the settler too. */
  readonly signal: Signal;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}
