import type { QueueAdmin } from '../admin/queue-admin.js';
import { subscriptionNotFound } from '../admin/subscription-admin.js';
import { maskUrl } from '../webhooks/mask-webhook.js';
import type { RouteHistory } from '../storage/history.js';
import type { QueueReports } from '../storage/reports.js';
import type { EndpointStore } from '../storage/endpoints.js';
import { subscriptionRoute } from '../storage/route.js';
import type { SubscriptionRecord } from '../storage/subscriptions.js';
import type { CountJson, EndpointJson, SubscriptionJson, SubscriptionsJson } from './api.js';
import type { OverviewReader } from './overview-reader.js';
import { timeJson } from './to-json.js';

/** Reads subscriptions with how their deliveries do. No header's value and no parameter of a URL leaves it. */
export class SubscriptionReader {
  readonly #admin: QueueAdmin;
  readonly #store: Pick<EndpointStore, 'list'>;
  readonly #reports: Pick<QueueReports, 'history'>;
  readonly #overview: OverviewReader;
  /** Knows those that handlers of this application declare. */
  readonly #declared: { has(id: string): boolean };

  constructor(
    admin: QueueAdmin,
    endpoints: Pick<EndpointStore, 'list'>,
    reports: Pick<QueueReports, 'history'>,
    overview: OverviewReader,
    declared: { has(id: string): boolean },
  ) {
    this.#admin = admin;
    this.#store = endpoints;
    this.#reports = reports;
    this.#overview = overview;
    this.#declared = declared;
  }

  /** @throws {TarefaError} `SUBSCRIPTIONS_UNAVAILABLE` */
  async list(): Promise<SubscriptionsJson> {
    return { subscriptions: await this.#describe(await this.#admin.subscriptions.list()) };
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`, `SUBSCRIPTIONS_UNAVAILABLE` */
  async find(id: string): Promise<SubscriptionJson> {
    const record = await this.#admin.subscriptions.find(id);
    const [subscription] = record ? await this.#describe([record]) : [];
    if (!subscription) throw subscriptionNotFound(id);
    return subscription;
  }

  /** True for one that a handler of this application makes again at its next start. */
  isDeclared(id: string): boolean {
    return this.#declared.has(id);
  }

  async #describe(records: readonly SubscriptionRecord[]): Promise<readonly SubscriptionJson[]> {
    const { routes } = await this.#reports.history({ range: 'hour' });
    const byRoute = new Map(routes.map((one) => [one.route, one]));
    const waiting = await this.#overview.counts();
    const endpoints = await this.#endpoints();
    const paused = new Set(
      (await this.#admin.paused()).flatMap((pause) =>
        'subscriptionId' in pause ? [pause.subscriptionId] : [],
      ),
    );
    return records.map((record) => ({
      ...fieldsOf(record),
      declared: this.isDeclared(record.id),
      paused: paused.has(record.id),
      ...healthOf(byRoute.get(subscriptionRoute(record.id))),
      ...pendingOf(record.id, waiting),
      endpoint: record.url === null || !endpoints ? null : (endpoints.get(record.id) ?? quietEndpoint),
    }));
  }

  /** By subscription; undefined where nothing is known of any. */
  async #endpoints(): Promise<ReadonlyMap<string, EndpointJson> | undefined> {
    const endpoints = await this.#store.list();
    return (
      endpoints &&
      new Map(
        endpoints.map(
          ({ subscriptionId, failingSince, lastSuccessAt, restsUntil, deactivatedAt, ...rest }) => [
            subscriptionId,
            {
              ...rest,
              failingSince: timeJson(failingSince),
              lastSuccessAt: timeJson(lastSuccessAt),
              restsUntil: timeJson(restsUntil),
              deactivatedAt: timeJson(deactivatedAt),
            },
          ],
        ),
      )
    );
  }
}

/** Nothing is written of it yet. */
const quietEndpoint: EndpointJson = {
  failures: 0,
  failingSince: null,
  lastSuccessAt: null,
  restsUntil: null,
  deactivatedAt: null,
  deactivatedFor: null,
  signed: false,
};

type Fields = 'id' | 'topic' | 'tenant' | 'group' | 'url' | 'httpMethod' | 'headers' | 'active' | 'createdAt';

function fieldsOf(record: SubscriptionRecord): Pick<SubscriptionJson, Fields> {
  const { id, topic, tenant, group, url, httpMethod, headers, active, createdAt } = record;
  return {
    id,
    topic,
    tenant,
    group,
    url: url === null ? null : maskUrl(url),
    httpMethod,
    headers: Object.keys(headers ?? {}),
    active,
    createdAt: timeJson(createdAt),
  };
}

function healthOf(
  history: RouteHistory | undefined,
): Pick<SubscriptionJson, 'succeeded' | 'failed' | 'buried' | 'waitP95'> {
  const { succeeded = 0, failed = 0, buried = 0 } = history ?? {};
  return { succeeded, failed, buried, waitP95: history?.wait.p95 ?? null };
}

function pendingOf(
  id: string,
  counts: readonly CountJson[],
): Pick<SubscriptionJson, 'pending' | 'pendingIsCapped'> {
  const own = counts.filter((one) => one.subscriptionId === id && one.status === 'pending');
  return {
    pending: own.reduce((sum, { count }) => sum + count, 0),
    pendingIsCapped: own.some(({ isCapped }) => isCapped),
  };
}
