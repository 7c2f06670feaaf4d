import type { QueueAdmin } from '../admin/queue-admin.js';
import { StatusReader } from '../admin/queue-status.js';
import { TarefaError } from '../errors.js';
import { restRoute } from '../observability/history/outcome-tally.js';
import { subscriptionRoute, topicRoute } from '../storage/route.js';
import { version } from '../version.js';
import type { QueueClient } from '../client/queue-client.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { QueueWorker } from '../worker/queue-worker.js';
import type { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import type { HistoryJson, InfoJson, PayloadJson, SchedulesJson, TasksJson } from './api.js';
import { DashboardActions } from './dashboard-actions.js';
import type { DashboardGroup } from './dashboard-group.js';
import type { ResolvedDashboardOptions } from '../options/dashboard-options.js';
import { LiveOverview } from './live-overview.js';
import { OverviewReader } from './overview-reader.js';
import { readParameter, type Query } from './read-filter.js';
import { Redaction } from '../redaction/redaction.js';
import { SubscriptionReader } from './subscription-reader.js';
import { TaskReader } from './task-reader.js';
import { countsJson, routeJson, scheduleJson, timeJson } from './to-json.js';

/** The queue that a dashboard shows. */
export interface ShownQueue {
  readonly database: QueueDatabase;
  readonly prepared: { readonly qualifiedName: string };
  readonly options: {
    readonly purgeMaxAgeDays: number;
    readonly subscriptionTable: string | undefined;
    readonly webhooks: unknown;
  };
  readonly events: QueueEvents;
  readonly client: QueueClient;
  /** Knows the subscriptions that handlers of this application declare. */
  readonly declared: { has(id: string): boolean };
}

export interface DashboardParts {
  /** Name of the queue in the application. */
  readonly name: string;
  readonly core: ShownQueue;
  readonly admin: QueueAdmin;
  /** Of this process: it knows best why it takes nothing. */
  readonly worker: Pick<QueueWorker, 'stalled'>;
  readonly webhooks: QueueWebhooks;
  readonly group: DashboardGroup;
  readonly options: Pick<ResolvedDashboardOptions, 'actions' | 'payloads' | 'redact'>;
}

/** Everything that a queue's dashboard shows and does, without the server around it. */
export class Dashboard {
  readonly tasks: TaskReader;
  readonly subscriptions: SubscriptionReader;
  readonly actions: DashboardActions;
  readonly overview: OverviewReader;
  readonly live: LiveOverview;
  readonly #parts: DashboardParts;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
    const { core, admin, worker, webhooks, options } = parts;
    const { database, events } = core;
    const { endpoints, reports } = database;
    const { purgeMaxAgeDays } = core.options;
    const status = new StatusReader(database, purgeMaxAgeDays, () => worker.stalled);
    this.overview = new OverviewReader(reports, status, purgeMaxAgeDays);
    this.live = new LiveOverview(() => this.overview.read());
    this.tasks = new TaskReader(database.admin, reports, new Redaction(options.redact), options.actions);
    this.subscriptions = new SubscriptionReader(admin, endpoints, reports, this.overview, core.declared);
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

  /** Runs work; explains where the database does not let this application do it. */
  async explained<T>(work: () => Promise<T> | T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw (await this.#parts.core.database.explainRefusal(error)) ?? error;
    }
  }

  info(): InfoJson {
    const { name, core, options } = this.#parts;
    return {
      queue: name,
      queues: this.#parts.group.list(),
      table: core.prepared.qualifiedName,
      version,
      actions: options.actions,
      payloads: options.payloads,
      publications: core.options.subscriptionTable !== undefined,
      webhooks: core.options.webhooks !== undefined,
    };
  }

  async schedules(): Promise<SchedulesJson> {
    return { schedules: (await this.#parts.admin.schedules.list()).map(scheduleJson) };
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
    const { reports } = this.#parts.core.database;
    const { stepMs, points, routes } = await reports.history({ range, route });
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
      'this dashboard does not show payloads: dashboard.payloads is false',
    );
  }
}
