import { TarefaError } from '../errors.js';
import type { IsolateKind } from '../options/isolation-options.js';
import {
  everyTopic,
  isTopicRoute,
  plainRoute,
  routesAfter,
  subscriptionRoute,
  topicPrefix,
  topicRoute,
} from '../storage/route.js';
import type { Route, ClaimedTask } from '../storage/attempt.js';
import type { RouteRange } from '../storage/waiting-route.js';
import type { Task, TaskContext } from '../task.js';
import { ownRules, type OwnRule } from '../values/own-rules.js';
import { shownValue } from '../values/shown-value.js';

/** What bounds how many attempts run at once in one worker: those of a handler, or of all that share it. */
export interface Limit {
  /** Undefined: as many as there are slots. */
  readonly concurrency: number | undefined;
}

/** How one handler runs; undefined rules fall back to the queue's options. */
export interface HandlerRules extends Limit {
  /** What it shares with other handlers; undefined: nothing. */
  readonly lane: Limit | undefined;
  readonly timeoutMs: number | undefined;
  readonly maxAttempts: number | undefined;
  /** Milliseconds from the failure of that attempt to the next one. */
  readonly retryDelay: ((attempt: number) => number) | undefined;
  /**
   * `text` passes the payload as it was inserted; `json` parses text that begins with `{` or `[`; `stored` is for handlers
   * that read the envelopes of deliveries themselves.
   */
  readonly payload: 'json' | 'text' | 'stored';
  /** True when its tasks share transactions. */
  readonly grouped: boolean;
  /** Where it runs; undefined: on the event loop. */
  readonly isolate: IsolateKind | undefined;
}

/** A method that handles tasks, ready to be called. */
export interface Handler {
  /** `Class.method`, for messages. */
  readonly name: string;
  /** The class that has the method: two may have one name. */
  readonly type?: object;
  readonly rules: HandlerRules;
  readonly invoke: (payload: unknown, ctx: TaskContext) => unknown;
  /** True when it serves one route only, which is found when it has tasks. */
  readonly exclusive?: true;
}

/** The tasks that a handler takes. A task handler without id takes every topic without a handler of its own. */
export type HandlerTarget =
  | { readonly kind: 'subscriber' | 'dead-subscriber'; readonly id: string }
  | { readonly kind: 'task' | 'dead-task'; readonly id: string | undefined };

/** The handlers of a route: both are undefined where none is registered. */
export interface RouteHandlers {
  readonly live: Handler | undefined;
  readonly dead: Handler | undefined;
}

/** A handler that does not run on the event loop. */
export interface IsolatedHandler {
  /** Its class and method, for people: what packs an application may give them other names there. */
  readonly name: string;
  /** What it handles; the same wherever it is declared. */
  readonly serves: string;
}

/** Routes that another worker of this process serves. */
export interface LeftRoutes {
  includes(route: Route): boolean;
  learn(pending: readonly Route[]): Promise<void>;
}

/** The decorators as users write them. */
export const decoratorNames = {
  subscriber: '@Subscriber',
  'dead-subscriber': '@DeadSubscriber',
  task: '@TaskHandler',
  'dead-task': '@DeadTaskHandler',
} as const;

/** The handlers of one queue in this process, by route. Filled at start, read-only afterwards. */
export class HandlerRegistry {
  readonly #live = new Map<Route, Handler>();
  readonly #dead = new Map<Route, Handler>();
  /** Routes that are left to another worker of this process, though their dead tasks may have handlers here. Default: none. */
  left: LeftRoutes | undefined;
  #anyTopic: Handler | undefined;
  #anyDeadTopic: Handler | undefined;

  /** @throws {TarefaError} `HANDLER_INVALID` when another method has that id already */
  add(target: HandlerTarget, handler: Handler): void {
    const present = this.#find(target);
    if (present) {
      const id = target.id === undefined ? '' : `'${target.id}'`;
      const todo =
        handler.type !== undefined && present.type === handler.type
          ? `its class is provided twice: provide it in one module, and export it from there`
          : `a queue can have only one handler for an id: remove one, or give it another id`;
      throw new TarefaError(
        'HANDLER_INVALID',
        `${decoratorNames[target.kind]}(${id}) is declared twice: ${present.name} and ${handler.name}; ${todo}`,
      );
    }
    this.#put(target, handler);
    this.#refuseApart(target);
  }

  leaves(route: Route): boolean {
    return this.left?.includes(route) ?? false;
  }

  /** Finds who serves newly seen routes, before this worker decides whether to take them. */
  async learn(pending: readonly Route[]): Promise<void> {
    await this.left?.learn(pending);
  }

  /** Routes that a worker announces: those with a live handler. */
  get announced(): readonly Route[] {
    const live = this.routes().filter((route) => this.#live.has(route));
    return [...live, ...(this.#anyTopic ? [everyTopic] : [])];
  }

  /** Routes that a worker announces to handle dead attempts of, those of webhooks included. */
  get announcedDead(): readonly Route[] {
    return [...this.#dead.keys(), ...(this.#anyDeadTopic ? [everyTopic] : [])];
  }

  /** The handlers of that route, or those for every topic. */
  of(route: Route): RouteHandlers {
    const anyTopic = route.startsWith(topicPrefix);
    return {
      live: this.#live.get(route) ?? (anyTopic ? this.#anyTopic : undefined),
      dead: this.#dead.get(route) ?? (anyTopic ? this.#anyDeadTopic : undefined),
    };
  }

  /** Routes that have a handler of their own, those that are left to another worker included. */
  get all(): readonly Route[] {
    return [...new Set([...this.#live.keys(), ...this.#dead.keys()])];
  }

  /** Routes that have a handler of their own. */
  routes(): readonly Route[] {
    return this.all.filter((route) => !this.leaves(route));
  }

  /** Where routes are taken that have no handler of their own: those of all topics, when some handler takes every topic. */
  get takesAny(): readonly RouteRange[] {
    return this.#anyTopic !== undefined || this.#anyDeadTopic !== undefined ? [everyTopicRange] : [];
  }

  /** The handlers that run in a thread, or in a process. */
  isolated(kind: IsolateKind): readonly IsolatedHandler[] {
    const all: readonly (readonly [string, Handler | undefined])[] = [
      ...[...this.#live].map(([route, handler]) => [`live ${route}`, handler] as const),
      ...[...this.#dead].map(([route, handler]) => [`dead ${route}`, handler] as const),
      ['live', this.#anyTopic],
      ['dead', this.#anyDeadTopic],
    ];
    return all.flatMap(([serves, handler]) =>
      handler?.rules.isolate === kind ? [{ name: handler.name, serves }] : [],
    );
  }

  get isEmpty(): boolean {
    return this.#live.size === 0 && this.#dead.size === 0 && this.takesAny.length === 0;
  }

  /** Routes with a dead handler but no live one: more likely a mistake than a plan. */
  deadOnlyRoutes(): readonly Route[] {
    return [...this.#dead.keys()].filter((route) => this.of(route).live === undefined);
  }

  /** One limit holds for the live and the dead tasks of a route. */
  #refuseApart({ kind, id }: HandlerTarget): void {
    const routes = id === undefined ? this.routes().filter(isTopicRoute) : [routeOf(kind, id)];
    const pairs = [
      ...routes.map((route) => this.of(route)),
      { live: this.#anyTopic, dead: this.#anyDeadTopic },
    ];
    for (const { live, dead } of pairs) {
      if (!live || !dead) continue;
      const differs = (['isolate', 'lane'] as const).find((rule) => live.rules[rule] !== dead.rules[rule]);
      if (differs === undefined) continue;
      throw new TarefaError(
        'HANDLER_INVALID',
        `${live.name} and ${dead.name}, which handles its dead tasks, differ in ${differs}: they share one limit, so give both the ` +
          `same ${differs}, or none`,
      );
    }
  }

  #find(target: HandlerTarget): Handler | undefined {
    if (target.id === undefined) return target.kind === 'task' ? this.#anyTopic : this.#anyDeadTopic;
    return this.#mapOf(target).get(routeOf(target.kind, target.id));
  }

  #put(target: HandlerTarget, handler: Handler): void {
    if (target.id !== undefined) this.#mapOf(target).set(routeOf(target.kind, target.id), handler);
    else if (target.kind === 'task') this.#anyTopic = handler;
    else this.#anyDeadTopic = handler;
  }

  #mapOf({ kind }: HandlerTarget): Map<Route, Handler> {
    return kind === 'subscriber' || kind === 'task' ? this.#live : this.#dead;
  }
}

/** The handler of an attempt: for live or for dead ones of its route. */
export function handlerOf(
  registry: Pick<HandlerRegistry, 'of'>,
  { route, task }: { readonly route: Route; readonly task: Pick<Task, 'dead'> },
): Handler | undefined {
  const { live, dead } = registry.of(plainRoute(route));
  return task.dead ? dead : live;
}

const everyTopicRange = routesAfter(topicPrefix);

function routeOf(kind: HandlerTarget['kind'], id: string): Route {
  return kind === 'subscriber' || kind === 'dead-subscriber' ? subscriptionRoute(id) : topicRoute(id);
}

/** How many attempts a task may have: its own number, its handler's, or the queue's. */
export function attemptsOf(
  task: Pick<Task, 'dead' | 'metadata'>,
  rules: Pick<HandlerRules, 'maxAttempts'> | undefined,
  options: { readonly maxAttempts: number },
): number {
  return ownRule(task, 'maxAttempts') ?? rules?.maxAttempts ?? options.maxAttempts;
}

/**
 * @throws {TarefaError} `ATTEMPTS_EXHAUSTED` for an attempt above the limit: it was inserted or renumbered by hand
 */
export function checkAttempt({ attempt }: Task, maxAttempts: number): void {
  if (attempt <= maxAttempts) return;
  throw new TarefaError(
    'ATTEMPTS_EXHAUSTED',
    `attempt ${attempt} is above maxAttempts (${maxAttempts}): it was not run`,
  );
}

/**
 * Checks a payload's size before it is loaded or parsed.
 *
 * @throws {TarefaError} `PAYLOAD_TOO_LARGE`
 */
export function checkSize({ payload, payloadBytes }: ClaimedTask, maxPayloadBytes: number): void {
  // A unit of UTF-16 takes at most three bytes.
  if (payloadBytes === null && (payload == null || payload.length * 3 <= maxPayloadBytes)) return;
  const bytes = payloadBytes ?? Buffer.byteLength(payload ?? '');
  if (bytes <= maxPayloadBytes) return;
  throw new TarefaError(
    'PAYLOAD_TOO_LARGE',
    `the payload has ${bytes} bytes, more than maxPayloadBytes (${maxPayloadBytes}): it was neither loaded nor run`,
  );
}

/** How long an attempt may take in ms: the task's own time, or its handler's; undefined for as long as it likes. */
export function timeoutOf(
  task: Pick<Task, 'dead' | 'metadata'>,
  rules: Pick<HandlerRules, 'timeoutMs'>,
): number | undefined {
  return ownRule(task, 'timeoutMs') ?? rules.timeoutMs;
}

/** What is wrong with a rule of its own that SQL gave a task; undefined when nothing is. */
export function ownRuleProblem({ dead, metadata }: Pick<Task, 'dead' | 'metadata'>): string | undefined {
  if (dead || metadata === null) return undefined;
  for (const { key, most } of Object.values(ownRules)) {
    const value = metadata[key];
    if (value !== undefined && !isWhole(value, most))
      return `its metadata has "${key}": ${shownValue(value)}, which is not a whole number from 1 to ${most}`;
  }
  return undefined;
}

/** A dead task has the metadata of its task, but not its rules. */
function ownRule({ dead, metadata }: Pick<Task, 'dead' | 'metadata'>, name: OwnRule): number | undefined {
  if (dead || metadata === null) return undefined;
  const { key, most } = ownRules[name];
  const value = metadata[key];
  return isWhole(value, most) ? value : undefined;
}

function isWhole(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}
