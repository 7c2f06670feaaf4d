import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { RoutinesScheduler } from '../maintenance/routines.scheduler.js';
import type { QueueBasis } from './core.js';
import { TarefaError } from '../errors.js';
import { isIsolatedChild } from '../options/isolation-options.js';
import { defaultQueueName } from '../options/part-token.js';
import type { QueueGroup } from './queue-group.js';
import { describeRoute, isSubscriptionRoute } from '../storage/route.js';
import type { Route } from '../storage/attempt.js';
import { StartChecks } from './start-checks.js';
import { noteProvided } from '../subscribers/decorated-classes.js';
import type { EnhancedHandlers } from '../subscribers/enhanced-handler.js';
import type { FoundHandler, SubscriberExplorer } from '../subscribers/subscriber.explorer.js';
import type { WebhookAssembly } from './webhooks.js';
import type { QueueWorkerAssembly } from './worker.js';
import { closingReserves } from '../timing/closing-time.js';
import { within } from '../timing/deadline.js';
import { endAtSecondInterrupt } from './second-interrupt.js';

/** What a {@link QueueRuntime} works with. */
export interface QueueRuntimeParts {
  readonly name: string;
  readonly core: QueueBasis;
  readonly assembly: QueueWorkerAssembly;
  /** Undefined where webhooks are not delivered. */
  readonly webhooks: WebhookAssembly | undefined;
  readonly explorer: SubscriberExplorer;
  readonly enhanced: EnhancedHandlers;
  readonly scheduler: SchedulerRegistry;
  readonly modules: ModulesContainer;
  readonly group: QueueGroup;
  /** The module instance that holds this runtime. */
  readonly module: () => object | undefined;
}

/**
 * Starts and stops a queue's worker with the application: it starts after the modules that were imported
 * before it, and drains before any of them is torn down.
 */
export class QueueRuntime implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #parts: QueueRuntimeParts;
  readonly #routines: RoutinesScheduler;
  readonly #checks: StartChecks;

  constructor(parts: QueueRuntimeParts) {
    this.#parts = parts;
    const { name, core, assembly } = parts;
    this.#routines = new RoutinesScheduler(parts.scheduler, core.events, name);
    const isRunning = (): boolean => assembly.worker.state === 'running';
    this.#checks = new StartChecks(name, core.events, isRunning);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { name, core, assembly, group, explorer } = this.#parts;
    // Whatever there is to say was said by the parent's application.
    if (isIsolatedChild()) return explorer.register(explorer.explore(), name, assembly.registry);
    this.#listen();
    this.#warnOfDropped();
    if (!core.options.worker) return;
    try {
      await group.closeOnFailure(() => this.onModuleDestroy());
      await this.#register();
      if (core.options.autoStart) await assembly.worker.start();
      this.#checks.start();
    } catch (error) {
      await group.leave();
      throw error;
    }
  }

  /** A listener that throws or rejects disturbs no task. */
  #listen(): void {
    const { explorer, core, name: own } = this.#parts;
    for (const { event, queue, name, call } of explorer.listeners()) {
      this.#refuseUnknownQueue(queue, name);
      if (queue !== own) continue;
      if (!call) {
        this.#warnOfDeaf(event, name);
        continue;
      }
      core.events.on(event, (told) => {
        void (async () => call(told))().catch((error: unknown) => {
          if (event !== 'warning') {
            core.events.emit('warning', { message: `${name} failed on '${event}': ${String(error)}` });
          }
        });
      });
    }
  }

  #warnOfDeaf(event: string, name: string): void {
    const message =
      `@OnQueueEvent('${event}') on ${name} is never called: its class is request-scoped or transient, or depends on one that is, so ` +
      `there is no instance to call. Move the method to a provider with the default scope`;
    this.#parts.core.events.emit('warning', { message });
  }

  #warnOfDropped(): void {
    const { explorer, core, name: own } = this.#parts;
    for (const { queue, name, message } of explorer.dropped()) {
      this.#refuseUnknownQueue(queue, name);
      if (queue === own) core.events.emit('warning', { message });
    }
  }

  async #register(): Promise<void> {
    const { core, assembly, explorer, name } = this.#parts;
    noteProvided(explorer.provided());
    const found = explorer.explore();
    this.#refuseUnknownQueues(found);
    explorer.register(found, name, assembly.registry);
    const own = found.filter(({ queue }) => queue === name);
    this.#tellHandlers(own);
    this.#declareWebhooks();
    this.#tellDeadOnly();
    this.#tellLeftOut(own.length > 0);
    this.#warnOfLateModules(own);
    await core.declared.prepare(own);
    const recurring = explorer.recurring();
    for (const one of recurring) this.#refuseUnknownQueue(one.queue, one.name);
    await core.schedules.prepare(
      recurring.filter(({ queue }) => queue === name),
      own,
    );
    this.#scheduleWithWorker();
  }

  async onModuleDestroy(): Promise<void> {
    const { core, assembly, webhooks } = this.#parts;
    this.#checks.stop();
    const ignoreSignals = endAtSecondInterrupt();
    try {
      // A routine under way may take as long as a handler.
      const routines = within(this.#routines.stop(), core.options.shutdownTimeoutMs);
      await Promise.all([routines, assembly.worker.stop()]);
      await core.closing.step(async () => webhooks?.client.close(), closingReserves.leave);
    } finally {
      ignoreSignals();
    }
  }

  /** The routines run while the worker does, no matter what starts and stops it. */
  #scheduleWithWorker(): void {
    const { core, assembly } = this.#parts;
    const { retryMinutes, notifyMinutes, purgeMinutes } = core.options;
    const isMain = ({ workerId }: { readonly workerId: string }): boolean => workerId === assembly.worker.id;
    core.events.on('worker.started', (event) => {
      if (!isMain(event)) return;
      this.#checks.start();
      this.#routines.start([
        { name: 'retry', minutes: retryMinutes, run: () => assembly.retry.runIfNeeded() },
        { name: 'notify', minutes: notifyMinutes, run: () => assembly.notify.run() },
        {
          name: 'purge',
          minutes: purgeMinutes,
          run: () => assembly.purge.run(),
          cutShort: () => assembly.purge.cutShort(),
        },
      ]);
    });
    core.events.on('worker.stopped', (event) => {
      if (isMain(event)) void this.#routines.stop();
    });
  }

  #tellHandlers(own: readonly FoundHandler[]): void {
    const lines = own.map(
      ({ metadata: { target }, name }) => `${name} handles ${target.kind} '${target.id ?? '*'}'`,
    );
    if (lines.length > 0) this.#parts.core.events.emit('notice', { message: lines.join('; ') });
  }

  /** What is a webhook is left to their worker; the rest is this one's. */
  #declareWebhooks(): void {
    const { assembly, explorer, webhooks, name: own } = this.#parts;
    const declared = explorer.webhooks();
    for (const { queue = defaultQueueName, name } of declared) this.#refuseUnknownQueue(queue, name);
    const ours = declared.filter(({ queue = defaultQueueName }) => queue === own);
    if (webhooks) {
      const { registry } = assembly;
      webhooks.routes.declare(
        ours.map(({ id }) => id),
        { has: (route) => registry.of(route).live !== undefined, deadOnly: registry.deadOnlyRoutes() },
      );
      registry.left = webhooks.routes;
    } else if (ours[0]) {
      throw new TarefaError(
        'HANDLER_INVALID',
        `@SubscriberWebhook('${ours[0].id}') on ${ours[0].name} needs webhooks: true in the options of QueueModule`,
      );
    }
  }

  #refuseUnknownQueues(found: readonly FoundHandler[]): void {
    for (const { queue, name } of found) this.#refuseUnknownQueue(queue, name);
  }

  #refuseUnknownQueue(queue: string, name: string): void {
    const { names } = this.#parts.group;
    if (names.has(queue)) return;
    throw new TarefaError(
      'HANDLER_INVALID',
      `${name} is for the queue '${queue}', but the application has only ${[...names]
        .map((known) => `'${known}'`)
        .join(', ')}: add QueueModule.forRoot({ name: '${queue}', … }), or correct the name`,
    );
  }

  /** More likely a mistake than a plan, unless another worker has the live handler. */
  #tellDeadOnly(): void {
    // Which subscriptions are webhooks is in the table: they have live handlers anyway.
    const mayBeWebhook = (route: Route): boolean =>
      this.#parts.webhooks !== undefined && isSubscriptionRoute(route);
    const deadOnly = this.#parts.assembly.registry.deadOnlyRoutes();
    const routes = deadOnly.filter((route) => !mayBeWebhook(route));
    if (routes.length === 0) return;
    const text = `${routes.map(describeRoute).join(', ')} has a dead handler but no live handler in this process`;
    const { events, options } = this.#parts.core;
    if (options.unknownTasks === 'fail') {
      return events.emit('warning', { message: `${text}: its live tasks will fail as not registered` });
    }
    events.emit('notice', { message: `${text}: its live tasks are left to workers that have one` });
  }

  /** A guard that the application relies on must not be left out unnoticed. */
  #tellLeftOut(hasHandlers: boolean): void {
    const leftOut = this.#parts.enhanced.leftOut();
    if (!hasHandlers || leftOut.length === 0) return;
    const names = leftOut.map(({ kind, names: all }) => `${kind} ${all.join(', ')}`).join('; ');
    const kinds = leftOut.map(({ kind }) => `'${kind}'`).join(', ');
    this.#parts.core.events.emit('notice', {
      message:
        `global enhancers do not run around queue handlers (${names}): bind them to the handlers that need them, or ` +
        `include all of a kind with globalEnhancers: [${kinds}]`,
    });
  }

  /** Modules boot deepest first. One that boots after this runtime gets tasks before its own hook ran. */
  #warnOfLateModules(found: readonly FoundHandler[]): void {
    const { modules, module } = this.#parts;
    const order = [...modules.values()].sort((a, b) => b.distance - a.distance);
    const own = order.findIndex((candidate) => candidate.instance === module());
    if (own === -1) return;
    const late = new Set<string>();
    for (const { wrapper } of found) {
      const host = order.findIndex((candidate) => candidate === wrapper.host);
      const hosting = order[host];
      if (host > own && hosting && hasHooks(hosting)) late.add(hosting.metatype.name);
    }
    if (late.size === 0) return;
    this.#parts.core.events.emit('warning', {
      message:
        `${[...late].join(', ')} holds handlers and boots after the queue: tasks may arrive before its ` +
        `onApplicationBootstrap has run. Import QueueModule last in the root module, move handlers out of the root ` +
        `module, or set autoStart: false and start QueueWorker yourself.`,
    });
  }
}

type HostModule = ModulesContainer extends Map<string, infer Module> ? Module : never;

/** Only hooks that run at start or teardown can be too late. */
function hasHooks(module: HostModule): boolean {
  return [...module.providers.values(), ...module.controllers.values()].some(({ instance }) => {
    const candidate: unknown = instance;
    return (
      typeof candidate === 'object' &&
      candidate !== null &&
      ('onApplicationBootstrap' in candidate || 'onModuleDestroy' in candidate)
    );
  });
}
