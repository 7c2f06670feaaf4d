import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import type { Environment } from './variables.js';
import { OptionCheck } from './option-check.js';

/** What can be done from the page, each a permission of its own. */
export type DashboardAction =
  | 'retry'
  | 'retry-edited'
  | 'retry-all'
  | 'cancel'
  | 'cancel-all'
  | 'bury'
  | 'run-now'
  | 'delete'
  | 'delete-all'
  | 'insert'
  | 'pause'
  | 'run-schedule'
  | 'pause-schedule'
  | 'add-subscription'
  | 'edit-subscription'
  | 'remove-subscription'
  | 'create-secret'
  | 'ping';

/** How a queue's dashboard is served. */
export interface DashboardOptions {
  /** Where in the application it is, below its global prefix. Default `/queues`. */
  readonly path?: string | undefined;
  /**
   * Who may see it: guards of Nest, asked at every request. Without any it is served in development only
   * (`NODE_ENV=development` or `test`), and to this machine only.
   */
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[] | undefined;
  /** Modules that export what the guards inject. Default: none. */
  readonly imports?: ModuleMetadata['imports'] | undefined;
  /**
   * Decorators for its controllers, which tell global guards of the application what they look for. Default: none.
   *
   * @example decorators: [Public(), SkipThrottle()]
   */
  readonly decorators?: readonly ClassDecorator[] | undefined;
  /** What may be done from it: true for everything, or a list. Default: nothing, it is read-only. */
  readonly actions?: boolean | readonly DashboardAction[] | undefined;
  /** False: payloads are not shown. Default true: they are when asked for, redacted, and each time an event tells it. */
  readonly payloads?: boolean | undefined;
  /**
   * Values that are not shown, besides those whose names say that they are secret (`password`, `senha`, `token` …): a name
   * (`cpf`) or `*.cpf` anywhere, `customer.*.number` by its path.
   */
  readonly redact?: readonly string[] | undefined;
  /**
   * Who acts, for the event `dashboard.action`. Asked with the request of Express or Fastify. Default: no name is recorded.
   *
   * @example actor: (request: { user?: { email: string } }) => request.user?.email
   */
  readonly actor?: ((request: never) => string | undefined) | undefined;
}

/** The options of a dashboard, checked and complete. */
export interface ResolvedDashboardOptions {
  /** Without slashes at its ends. */
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly decorators: readonly ClassDecorator[];
  readonly actions: readonly DashboardAction[];
  readonly payloads: boolean;
  readonly redact: readonly string[];
  readonly actor: ((request: never) => string | undefined) | undefined;
}

/** Everything that can be done. */
export const dashboardActions: readonly DashboardAction[] = [
  'retry',
  'retry-edited',
  'retry-all',
  'cancel',
  'cancel-all',
  'bury',
  'run-now',
  'delete',
  'delete-all',
  'insert',
  'pause',
  'run-schedule',
  'pause-schedule',
  'add-subscription',
  'edit-subscription',
  'remove-subscription',
  'create-secret',
  'ping',
];

const known: Readonly<Record<keyof DashboardOptions, true>> = {
  path: true,
  guards: true,
  imports: true,
  decorators: true,
  actions: true,
  payloads: true,
  redact: true,
  actor: true,
};

/** Where only developers are expected. */
const development: ReadonlySet<string | undefined> = new Set(['development', 'test']);

/**
 * Checks the options of a dashboard.
 *
 * @param env variables, of which `NODE_ENV` tells where it is served
 * @throws {TarefaError} `OPTIONS_INVALID`, with all mistakes at once
 */
export function resolveDashboard(
  given: DashboardOptions,
  env: Environment = process.env,
): ResolvedDashboardOptions {
  const check = new OptionCheck([], () => undefined);
  const nodeEnv = env['NODE_ENV'];
  const isObject = typeof given === 'object' && given !== null;
  if (!isObject)
    check.mistake(`dashboard must be an object such as { guards: [StaffGuard] }, not ${String(given)}`);
  const options: DashboardOptions = isObject ? given : {};
  check.known(Object.keys(options), Object.keys(known), 'dashboard.');
  const resolved = {
    path: readPath(options.path ?? '/queues', check),
    guards: readGuards(options.guards ?? [], check),
    imports: options.imports ?? [],
    decorators: readDecorators(options.decorators ?? [], check),
    actions: readActions(options.actions ?? false, check),
    payloads: check.boolean('dashboard.payloads', options.payloads ?? true),
    redact: readRules(options.redact ?? [], check),
    actor: options.actor,
  };
  if (options.actor !== undefined && typeof options.actor !== 'function') {
    check.mistake('dashboard.actor must be a function');
  }
  if (resolved.guards.length === 0 && !development.has(nodeEnv)) {
    check.mistake(
      `dashboard.guards is empty and NODE_ENV is ${nodeEnv === undefined ? 'not set' : `'${nodeEnv}'`}: a dashboard shows payloads ` +
        `and may change tasks, so it is not served without a guard. Set guards: [StaffGuard], or set ` +
        `NODE_ENV=development on your own machine`,
    );
  }
  check.throwIfAny('the options of the dashboard');
  return resolved;
}

function readPath(path: unknown, check: OptionCheck): string {
  const trimmed = typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : '';
  if (!/^[\w.~-]+(\/[\w.~-]+)*$/.test(trimmed)) {
    check.mistake(
      `dashboard.path must be a path of letters, digits and . _ ~ - such as '/queues', not ${JSON.stringify(path)}`,
    );
  }
  return trimmed;
}

function readGuards(guards: unknown, check: OptionCheck): ResolvedDashboardOptions['guards'] {
  const isGuard = (one: unknown): boolean =>
    typeof one === 'function' ||
    (typeof one === 'object' &&
      one !== null &&
      typeof (one as Partial<CanActivate>).canActivate === 'function');
  if (Array.isArray(guards) && guards.every(isGuard)) return guards as ResolvedDashboardOptions['guards'];
  check.mistake('dashboard.guards must be a list of guards: classes or objects with canActivate()');
  return [];
}

function readDecorators(decorators: unknown, check: OptionCheck): readonly ClassDecorator[] {
  if (Array.isArray(decorators) && decorators.every((one) => typeof one === 'function')) {
    return decorators as readonly ClassDecorator[];
  }
  check.mistake('dashboard.decorators must be a list of class decorators such as [Public()]');
  return [];
}

function readActions(actions: unknown, check: OptionCheck): readonly DashboardAction[] {
  if (typeof actions === 'boolean') return actions ? dashboardActions : [];
  const list: readonly unknown[] = Array.isArray(actions) ? actions : [undefined];
  if (list.every((one) => (dashboardActions as readonly unknown[]).includes(one))) {
    return list as readonly DashboardAction[];
  }
  check.mistake(
    `dashboard.actions must be true, false or a list of ${dashboardActions.join(', ')}, not ${JSON.stringify(actions)}`,
  );
  return [];
}

/** True for a name or path of the option `redact`. */
export function isRedactRule(rule: unknown): boolean {
  return typeof rule === 'string' && /^[^.\s]+(\.[^.\s]+)*$/.test(rule);
}

function readRules(rules: unknown, check: OptionCheck): readonly string[] {
  if (Array.isArray(rules) && rules.every(isRedactRule)) return rules as readonly string[];
  check.mistake(
    `dashboard.redact must be a list of names and paths such as 'cpf' or 'customer.*.number', not ${JSON.stringify(rules)}`,
  );
  return [];
}
