import type { QueueAdmin } from '../admin/queue-admin.js';
import { QueueStatus } from '../admin/queue-status.js';
import { TaskSearch } from '../admin/task-search.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { QueueCore } from '../assembly/core.js';
import { TarefaError } from '../errors.js';
import { readHistory } from '../observability/history/history-reader.js';
import { restRoute } from '../observability/history/outcome-tally.js';
import { inTransaction } from '../storage/postgres/connections/in-transaction.js';
import { subscriptionRoute, topicRoute } from '../storage/route.js';
import { version } from '../version.js';
import type { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import type { HistoryJson, InfoJson, PayloadJson, TasksJson } from './api.js';
import { DashboardActions } from './dashboard-actions.js';
import type { DashboardGroup } from './dashboard-group.js';
import type { ResolvedDashboardOptions } from '../options/dashboard-options.js';
import { LiveOverview } from './live-overview.js';
import { OverviewReader } from './overview-reader.js';
import { readParameter, type Query } from './read-filter.js';
import { Redaction } from './redaction.js';
import { SubscriptionReader } from './subscription-reader.js';
import { TaskReader } from './task-reader.js';
import { countsJson, routeJson, timeJson } from './to-json.js';

/** What a {@link Dashboard} works with. */
export interface DashboardParts {
  /** Name of the queue in the application. */
  readonly name: string;
  readonly core: Pick<
    QueueCore,
    'options' | 'database' | 'schema' | 'connections' | 'events' | 'client' | 'declared'
  >;
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
  readonly group: DashboardGroup;
  readonly options: Pick<ResolvedDashboardOptions, 'actions' | 'payloads' | 'redact'>;
}

/** Nobody waits longer for an answer. */
const timeoutMs = 10_000;

/** Everything that a queue's dashboard shows and does, without the server around it. */
export class Dashboard {
  readonly tasks: TaskReader;
  readonly subscriptions: SubscriptionReader;
  readonly actions: DashboardActions;
  readonly overview: OverviewReader;
  readonly live: LiveOverview;
  readonly #parts: DashboardParts;
  readonly #handle: SqlHandle;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
    const { core, admin, webhooks, options } = parts;
    const { database, events } = core;
    const { tables } = core.schema;
    const transaction = <T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> =>
      inTransaction(core.connections.onlookers(), work);
    const handle: SqlHandle = {
      query: (text, values) =>
        transaction(async (tx) => {
          await tx.query(`set local statement_timeout = ${timeoutMs}`);
          return tx.query(text, values);
        }),
    };
    this.#handle = handle;
    const { endpoints } = database;
    const status = new QueueStatus({
      tables,
      transaction,
      findPurgeable: (look) => database.upkeep.findPurgeable(look),
      purgeMaxAgeDays: core.options.purgeMaxAgeDays,
      interop: core.options.interop !== undefined,
    });
    this.overview = new OverviewReader({ status, handle, transaction, tables, endpoints });
    this.live = new LiveOverview(() => this.overview.read());
    this.tasks = new TaskReader({
      handle,
      tables,
      search: new TaskSearch({ tables, transaction }),
      redaction: new Redaction(options.redact),
      actions: options.actions,
    });
    this.subscriptions = new SubscriptionReader({
      admin,
      history: () => readHistory(handle, tables, { range: 'hour' }),
      endpoints,
      declared: core.declared,
      counts: () => this.overview.counts(),
    });
    this.actions = new DashboardActions({
      admin,
      webhooks,
      subscriptions: this.subscriptions,
      tasks: this.tasks,
      client: core.client,
      events,
      allowed: options.actions,
      showsPayloads: options.payloads,
    });
  }

  info(): InfoJson {
    const { name, core, options } = this.#parts;
    return {
      queue: name,
      queues: this.#parts.group.list(),
      table: core.schema.tables.qualifiedName,
      version,
      actions: options.actions,
      payloads: options.payloads,
      publications: core.schema.tables.subscriptions !== undefined,
      webhooks: core.options.webhooks !== undefined,
    };
  }

  /** @throws {TarefaError} `INPUT_INVALID`; `ACTION_FORBIDDEN` for a search in payloads where these are not shown */
  async list(query: Query, actor: string | null): Promise<TasksJson> {
    const { payload, ...rest } = query;
    if (payload === undefined) return this.tasks.list(query);
    this.#mustShowPayloads();
    const found = await this.tasks.list(query);
    this.actions.shown('search-payloads', actor, JSON.stringify(rest).slice(0, 500));
    return found;
  }

  /** @throws {TarefaError} `INPUT_INVALID` */
  async history(query: Query): Promise<HistoryJson> {
    const range = readParameter(query, 'range') ?? 'hour';
    if (range !== 'hour' && range !== 'day') {
      throw new TarefaError('INPUT_INVALID', `range must be hour or day, not '${range}'`);
    }
    const [topic, subscription] = [readParameter(query, 'topic'), readParameter(query, 'subscription')];
    const route =
      subscription !== undefined
        ? subscriptionRoute(subscription)
        : topic === undefined
          ? undefined
          : topicRoute(topic);
    const { schema } = this.#parts.core;
    const { stepMs, points, routes } = await readHistory(this.#handle, schema.tables, {
      range,
      route,
    });
    return {
      range,
      stepMs,
      points: points.map((point) => ({
        ...countsJson(point),
        at: timeJson(point.at),
        lagMs: point.lagMs,
      })),
      routes: routes.map((one) => ({
        ...countsJson(one),
        ...(one.route === restRoute ? { topic: null, subscriptionId: null } : routeJson(one.route)),
        isRest: one.route === restRoute,
        ended: one.ended,
      })),
    };
  }

  /** @throws {TarefaError} `ACTION_FORBIDDEN` where payloads are not shown, `TASK_NOT_FOUND`, `INPUT_INVALID` */
  async payload(id: string, actor: string | null): Promise<PayloadJson> {
    this.#mustShowPayloads();
    const payload = await this.tasks.payload(id);
    this.actions.shown('show-payload', actor, id);
    return payload;
  }

  #mustShowPayloads(): void {
    if (this.#parts.options.payloads) return;
    throw new TarefaError(
      'ACTION_FORBIDDEN',
      'this dashboard shows no payloads: dashboard.payloads is false',
    );
  }
}
