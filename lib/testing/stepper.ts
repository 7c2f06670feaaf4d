import { hostname } from 'node:os';
import { TarefaError } from '../errors.js';
import type { QueueBasis } from '../assembly/core.js';
import { isolatedPrefix, plainRoute, publicationRoute } from '../storage/route.js';
import type { ClaimedTask, Route, RouteDemand, WorkerId } from '../storage/attempt.js';
import type { Claims } from '../storage/claims.js';
import { version } from '../version.js';
import type { Execution, QueueWorkerAssembly } from '../assembly/worker.js';
import { RunningTasks } from '../worker/running/running-tasks.js';

/** Promoted by one statement. */
const promotePage = 1_000;
const mostRoutes = 1_000_000;
/** Isolated ones included. */
const allRoutes = [{ from: isolatedPrefix, below: 'u' }];

/** The worker that a stepper registers, and what it runs attempts by. */
interface Registered extends Execution {
  readonly id: WorkerId;
  readonly claims: Claims;
}

/**
 * Does what a worker does, one attempt at a time and only when it is told to: with the same statements, by the same
 * executor.
 */
export class Stepper {
  readonly #core: QueueBasis;
  readonly #assembly: QueueWorkerAssembly;
  #registered: Registered | undefined;

  constructor(core: QueueBasis, assembly: QueueWorkerAssembly) {
    this.#core = core;
    this.#assembly = assembly;
  }

  /** Runs the best attempt that is due; undefined when none is. */
  async step(): Promise<ClaimedTask | undefined> {
    const { database } = this.#core;
    const { claims } = await this.#worker();
    while ((await database.attempts.promote(promotePage)).promoted === promotePage);
    const routes = (await this.#routes()).map((route) => ({ route, limit: 1, only: this.#only(route) }));
    if (routes.length === 0) return undefined;
    // Whatever is due, however it came there.
    claims.invalidate();
    const [claimed] = (await claims.settleAndClaim([], { routes, total: 1, order: 'age' })).claimed;
    if (claimed) await this.#run(claimed);
    return claimed;
  }

  /** Runs that attempt, which the worker must hold, and no other. */
  async runHeld(id: string): Promise<void> {
    const { database } = this.#core;
    const held = (await database.attempts.heldBy(await this.begin(), promotePage)).find(
      (one) => one.id === id,
    );
    if (!held) throw new TarefaError('TASK_LOST', `attempt ${id} was taken by another worker`);
    const payload = await database.attempts.loadPayload(id);
    await this.#run({ ...held, payload, publication: false, payloadBytes: null });
  }

  /** Ms until the next attempt is due; undefined when none waits. */
  async nextDueInMs(): Promise<number | undefined> {
    return (await this.#core.database.attempts.promote(0)).nextDueInMs;
  }

  /** @throws {TarefaError} `OPTIONS_INVALID` when a worker of this application takes the tasks itself */
  async begin(): Promise<WorkerId> {
    return (await this.#worker()).id;
  }

  async #worker(): Promise<Registered> {
    this.#registered ??= await this.#register();
    return this.#registered;
  }

  async #register(): Promise<Registered> {
    const { database, options, events } = this.#core;
    const { worker, registry, execution } = this.#assembly;
    if (!options.worker || worker.state !== 'idle') {
      throw new TarefaError(
        'OPTIONS_INVALID',
        `a tester runs the tasks itself, but this application ${
          options.worker ? `has a worker that is ${worker.state}` : 'only produces (worker: false)'
        }: give QueueModule autoStart: false in tests`,
      );
    }
    const routes = registry.routes();
    const id = await database.workers.register({
      host: hostname(),
      pid: process.pid,
      version,
      concurrency: 1,
      routes,
      deadRoutes: registry.announcedDead,
    });
    const warn = (message: string): void => events.emit('warning', { message });
    return { id, claims: database.claimsOf(id, { concurrency: 1, warn }), ...execution(id) };
  }

  /** Where a worker would leave foreign tasks, only dead ones are taken: for those without a handler there is the default. */
  #only(route: Route): RouteDemand['only'] {
    const plain = plainRoute(route);
    const isTaken =
      plain === publicationRoute ||
      this.#core.options.unknownTasks === 'fail' ||
      this.#assembly.registry.of(plain).live !== undefined;
    return isTaken ? undefined : 'dead';
  }

  /** Pauses hold here as well. */
  async #routes(): Promise<readonly Route[]> {
    const { database } = this.#core;
    const paused = new Set(await database.attempts.pausedRoutes());
    const pending = (await database.attempts.routeHeads(allRoutes, mostRoutes)).map(({ route }) => route);
    const { registry } = this.#assembly;
    await registry.learn(pending);
    return pending.filter((route) => {
      const plain = plainRoute(route);
      return !registry.leaves(plain) && !paused.has(plain);
    });
  }

  async #run(claimed: ClaimedTask): Promise<void> {
    const { executor, fanOut } = await this.#worker();
    if (claimed.publication && !claimed.task.dead) await fanOut.deliver([claimed]);
    else await executor.run(new RunningTasks().begin(claimed));
    await this.#settle();
  }

  /** Resolves when the outcome is in the table. */
  async #settle(): Promise<void> {
    const { settler, signal, claims } = await this.#worker();
    for (;;) {
      const taken = settler.take(promotePage);
      if (taken.length > 0) {
        const completions = taken.map(({ completion }) => completion);
        await settler.settled(taken, await claims.settleAndClaim(completions));
      }
      await settler.flushFailures();
      if (settler.pending === 0) return;
      await signal.wait();
    }
  }
}
