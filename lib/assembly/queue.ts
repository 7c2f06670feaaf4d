import type {
  DiscoveryService,
  ExternalContextCreator,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { getPartToken } from '../options/part-token.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { QueueLogs } from '../observability/queue-logs.js';
import { environmentWarnings } from '../options/environment.js';
import { isDetachedChild, isIsolatedChild } from '../options/isolation-options.js';
import type { QueueOptions } from '../options/queue-options.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { resolveOptions } from './resolve-options.js';
import { EnhancedHandlers } from '../subscribers/enhanced-handler.js';
import { declaresTopics } from '../subscribers/declares-topics.js';
import { SubscriberExplorer } from '../subscribers/subscriber.explorer.js';
import { failureMessage } from '../values/failure-text.js';
import { cannotBeMade } from './boot-failure.js';
import { assembleCore, type CoreOptions, type QueueBasis, type QueueCore } from './core.js';
import type { QueueGroup } from './queue-group.js';
import { QueueRuntime } from './runtime.js';
import type { WebhookAssembly } from './webhooks.js';
import type { QueueWorkerAssembly } from './worker.js';

export { unavailableWebhooks } from '../webhooks/unavailable-webhooks.js';
export { assembleWorker } from './core.js';

/** What `QueueModule` opens a queue with. */
export interface QueueOpening {
  readonly name: string;
  readonly options: QueueOptions;
  /** As of the option `dashboard.redact`, which is checked with the others of the dashboard. */
  readonly redact: unknown;
  readonly events: QueueEvents;
  readonly logs: QueueLogs;
  readonly group: QueueGroup;
  readonly modules: ModulesContainer;
}

/** Connects a queue and prepares its tables; what was opened is closed when the application's start fails. */
export async function openQueue(opening: QueueOpening): Promise<QueueCore> {
  const { name, events, logs, group, modules } = opening;
  // Before it belongs to the application's queues, which are closed when one of them cannot be opened.
  refuseLazyModule(name, modules);
  group.add(name);
  void closeUnlessMade(opening);
  try {
    refuseSameName(name, modules);
    const options = resolveOptions(isIsolatedChild() ? inChild(opening.options) : opening.options);
    await startLogs(logs, events, options);
    await group.closeOnFailure(() => logs.close());
    const failed = new AbortController();
    await group.closeOnFailure(async () => failed.abort());
    const redact = readRedact(opening.redact);
    const declares = declaresTopics(modules, name);
    const of = { name, group, redact, declares, signal: failed.signal };
    const core = await openResolved(options, events, of);
    await group.closeOnFailure(() => core.close());
    return core;
  } catch (error) {
    await group.leave();
    throw error;
  }
}

/** In a child nothing is claimed or made, and nobody is served: a connection for its task's transaction, one to insert beside it. */
function inChild(options: QueueOptions): QueueOptions {
  const shared = { ...options, server: false, schema: 'check', poolSize: 2 } as const;
  // A detached process runs its attempt as any worker does.
  return isDetachedChild() ? { ...shared, concurrency: 1 } : { ...shared, worker: false };
}

/** When another provider of the application fails, nobody else closes what its queues have opened. */
async function closeUnlessMade({ events, group, modules }: QueueOpening): Promise<void> {
  try {
    if (await cannotBeMade(modules)) await group.leave();
  } catch (error) {
    const message = `the application could not be created, and the queue could not be closed: ${failureMessage(error)}`;
    events.emit('warning', { message });
  }
}

/** The sink for Loki is loaded where it is used. */
async function startLogs(logs: QueueLogs, events: QueueEvents, options: ResolvedOptions): Promise<void> {
  const { loki } = options;
  if (!loki) return logs.start(events, options);
  const { LokiSink } = await import('../observability/loki/loki-sink.js');
  logs.start(events, options, (report) => new LokiSink(loki, report));
}

async function openResolved(
  options: ResolvedOptions,
  events: QueueEvents,
  of: CoreOptions,
): Promise<QueueCore> {
  if (options.worker) {
    for (const message of environmentWarnings(process.env, options.interop))
      events.emit('warning', { message });
  }
  const core = await assembleCore(options, events, of);
  const { warnings, made } = core.prepared;
  for (const message of warnings) events.emit('warning', { message });
  if (made.length > 0) events.emit('notice', { message: `created ${made.join(', ')}` });
  return core;
}

function readRedact(redact: unknown): readonly string[] {
  return Array.isArray(redact) ? redact.filter((rule) => typeof rule === 'string') : [];
}

/** How far modules are from the root is measured when the application begins, not of those that Nest loads later. */
function refuseLazyModule(name: string, modules: ModulesContainer): void {
  // Nest's own module, and the root.
  const [, , ...others] = modules.values();
  const own = others.find(({ providers }) => providers.has(getPartToken(name, 'runtime')));
  if (!own || own.distance > 0) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `the queue '${name}' is in a module loaded by LazyModuleLoader, whose lifecycle hooks Nest does not call: its worker would ` +
      `never start, and its connections would never be closed. Import its QueueModule.forRoot() in the root module`,
  );
}

/** Two queues of one name share their tokens, so that one would get what is meant for the other. */
function refuseSameName(name: string, modules: ModulesContainer): void {
  const same = [...modules.values()].filter(({ providers }) => providers.has(getPartToken(name, 'core')));
  if (same.length < 2) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `the application imports ${same.length} queues named '${name}': give each QueueModule.forRoot() its own ` +
      `name, or call it once. Its QueueClient can be injected everywhere.`,
  );
}

/** Delivers webhooks where they are configured; undefined elsewhere, where nothing of them is loaded. */
export async function openWebhooks(
  core: QueueCore,
  worker: QueueWorkerAssembly,
): Promise<WebhookAssembly | undefined> {
  if (!core.options.webhooks) return undefined;
  const { assembleWebhooks } = await import('./webhooks.js');
  return assembleWebhooks(core, worker);
}

/** What of Nest finds and calls handlers. */
export interface NestParts {
  readonly discovery: DiscoveryService;
  readonly scanner: MetadataScanner;
  readonly modules: ModulesContainer;
  readonly creator: ExternalContextCreator;
}

/** What a queue's runtime starts and stops. */
export interface RuntimeParts {
  readonly name: string;
  readonly core: QueueBasis;
  readonly assembly: QueueWorkerAssembly;
  /** Undefined where webhooks are not delivered. */
  readonly webhooks: WebhookAssembly | undefined;
  readonly group: QueueGroup;
  readonly nest: NestParts;
  /** Undefined where the application has no `ScheduleModule`. */
  readonly scheduler: SchedulerRegistry | undefined;
  /** The module instance that holds the runtime. */
  readonly module: object;
}

/** Makes what starts and stops a queue's worker with the application. */
export function makeRuntime({ core, nest, scheduler, module, ...parts }: RuntimeParts): QueueRuntime {
  const { creator, ...found } = nest;
  const { globalEnhancers, wrapHandler, lanes } = core.options;
  const enhanced = new EnhancedHandlers(creator, nest.modules, globalEnhancers);
  return new QueueRuntime({
    ...parts,
    core,
    explorer: new SubscriberExplorer({ ...found, enhanced, schemas: core.schemas, wrapHandler, lanes }),
    enhanced,
    scheduler: scheduler ?? new SchedulerRegistry(),
    modules: nest.modules,
    module: () => module,
  });
}
