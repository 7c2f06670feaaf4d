import 'reflect-metadata';
import { Logger, type INestApplicationContext, type LogLevel, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { handlerPhase, type ProcessGuard } from '../coordination/lease-protocol.js';
import { TarefaError } from '../errors.js';
import { getPartToken } from '../options/part-token.js';
import { errorProperties } from '../redaction/error-properties.js';
import { Redaction } from '../redaction/redaction.js';
import { handlerOf, timeoutOf } from '../subscribers/handler-registry.js';
import { failureMessage } from '../values/failure-text.js';
import { ChildRunner } from '../worker/children/child-runner.js';
import {
  stopGraceMs,
  type DetachedWorker,
  type DetachedWorkerParts,
} from '../worker/children/detached-worker.js';
import type { ChildReady, ChildReport, DetachedOrder } from '../worker/children/messages.js';
import { runDepsOf } from '../worker/running/handler-context.js';
import type { QueueCore } from './core.js';
import type { QueueWorkerAssembly } from './worker.js';

type Tell = (report: ChildReport) => void;

/** What `@Module()` leaves on a class. */
const moduleKeys = ['imports', 'providers', 'controllers', 'exports'];
const kinds = ['thread', 'process', 'detached'] as const;
/** A timer of more rings at once. */
const longestTimerMs = 2 ** 31 - 1;
const levels: LogLevel[] = ['log', 'warn', 'error', 'fatal'];

/** The application of a thread or process, which runs isolated handlers and nothing else. */
export class ChildApplication {
  readonly runner: ChildRunner;
  readonly ready: ChildReady;
  readonly #app: INestApplicationContext;
  readonly #core: QueueCore;
  readonly #assembly: QueueWorkerAssembly;

  private constructor(app: INestApplicationContext, queue: string, tell: Tell) {
    this.#app = app;
    const core = app.get<QueueCore>(getPartToken(queue, 'core'), { strict: false });
    const assembly = app.get<QueueWorkerAssembly>(getPartToken(queue, 'assembly'), { strict: false });
    const { registry } = assembly;
    const { database, options, redact } = core;
    this.#core = core;
    this.#assembly = assembly;
    this.runner = new ChildRunner(
      database,
      registry,
      runDepsOf(core),
      tell,
      errorProperties(options.errorProperties, new Redaction(redact)),
    );
    // Says now that no lease can be held with that configuration.
    if (registry.isolated('detached').length > 0) core.storage.detachedLiveness(guardFor(undefined));
    const handlers = kinds.flatMap((kind) => registry.isolated(kind).map(({ serves }) => serves));
    this.ready = { type: 'ready', handlers, stoppedJobs: stopJobs(app) };
  }

  /**
   * @param module URL of the file with the module
   * @param queue name of the queue in its application
   * @param tell told what the parent has to know of an attempt that runs
   * @throws {TarefaError} `OPTIONS_INVALID`, or what the start of an application raises
   */
  static async boot(module: string, queue: string, tell: Tell): Promise<ChildApplication> {
    const type = await loadModule(module);
    const logger: LogLevel[] = ['warn', 'error', 'fatal'];
    const app = await NestFactory.createApplicationContext(type, { logger, abortOnError: false });
    try {
      refuseWithoutQueue(app, type, queue);
      // The lines of the start stand in the parent's log already; those of handlers do not.
      const { options } = app.get<QueueCore>(getPartToken(queue, 'core'), { strict: false });
      Logger.overrideLogger(options.logDebug ? ['verbose', 'debug', ...levels] : levels);
      return new ChildApplication(app, queue, tell);
    } catch (error) {
      await app.close();
      throw error;
    }
  }

  /** Makes what takes an attempt over and runs it. */
  detachedWorker(
    { claimed }: DetachedOrder,
    told: Pick<DetachedWorkerParts, 'tell' | 'giveUp'>,
  ): DetachedWorker {
    const { registry, detached } = this.#assembly;
    const rules = handlerOf(registry, claimed)?.rules;
    const timeoutMs = rules && timeoutOf(claimed.task, rules);
    const afterMs = timeoutMs === undefined ? undefined : Math.min(timeoutMs + stopGraceMs, longestTimerMs);
    const guard = guardFor(afterMs);
    const liveness = this.#core.storage.detachedLiveness(guard);
    const phase = new Int32Array(guard.phase);
    return detached({
      liveness,
      handlerBegins: () => void Atomics.store(phase, 0, handlerPhase.runs),
      handlerEnded: () => void Atomics.store(phase, 0, handlerPhase.ended),
      ...told,
    });
  }

  async close(): Promise<void> {
    await this.#app.close();
  }
}

function guardFor(afterMs: number | undefined): ProcessGuard {
  return { afterMs, cancelGraceMs: stopGraceMs, phase: new SharedArrayBuffer(4) };
}

/** @throws {TarefaError} `OPTIONS_INVALID` */
async function loadModule(href: string): Promise<Type> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw invalid(`isolation.module (${href}) cannot be loaded: ${failureMessage(cause)}`, cause);
  }
  // Of CommonJS only the default is certain.
  const all = [...Object.values(exported), ...Object.values(Object(exported['default']) as object)];
  const modules = [...new Set(all.filter(isModule))];
  const [type, another] = modules;
  if (type && !another) return type;
  const found = type
    ? `exports ${modules.map(({ name }) => name).join(' and ')}`
    : 'exports no class with @Module()';
  throw invalid(
    `isolation.module (${href}) ${found}: export exactly one module that imports the queue and provides the handlers`,
  );
}

function isModule(value: unknown): value is Type {
  return typeof value === 'function' && moduleKeys.some((key) => Reflect.hasOwnMetadata(key, value));
}

function refuseWithoutQueue(app: INestApplicationContext, { name }: Type, queue: string): void {
  try {
    app.get(getPartToken(queue, 'core'), { strict: false });
  } catch {
    throw invalid(
      `${name} of isolation.module does not import the queue '${queue}': import the same QueueModule.forRoot() there as in the ` +
        `application`,
    );
  }
}

/** Jobs of the application run in the parent; each child would run them once more. */
function stopJobs(app: INestApplicationContext): readonly string[] {
  const registry = schedulerOf(app);
  if (!registry) return [];
  const [jobs, intervals, timeouts] = [
    registry.getCronJobs(),
    registry.getIntervals(),
    registry.getTimeouts(),
  ];
  const names = [...jobs.keys()];
  // A cron job with a delay begins later, unless it is not registered any more.
  for (const name of names) registry.deleteCronJob(name);
  for (const name of intervals) registry.deleteInterval(name);
  for (const name of timeouts) registry.deleteTimeout(name);
  return [...names, ...intervals, ...timeouts];
}

function schedulerOf(app: INestApplicationContext): SchedulerRegistry | undefined {
  try {
    return app.get<SchedulerRegistry>(SchedulerRegistry, { strict: false });
  } catch {
    // Without a `ScheduleModule` there is none.
    return undefined;
  }
}

function invalid(message: string, cause?: unknown): TarefaError {
  return new TarefaError('OPTIONS_INVALID', message, cause === undefined ? {} : { cause });
}
