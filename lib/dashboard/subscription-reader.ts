import type { QueueAdmin } from '../admin/queue-admin.js';
import { subscriptionNotFound, type SubscriptionRecord } from '../admin/subscription-admin.js';
import { maskUrl } from '../webhooks/mask-webhook.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { readHistory, type RouteHistory } from '../observability/history/history-reader.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { readEndpoints } from '../storage/postgres/statements/webhooks.js';
import { subscriptionRoute } from '../storage/route.js';
import type { CountJson, EndpointJson, SubscriptionJson, SubscriptionsJson } from './api.js';
import { timeJson } from './to-json.js';

/** What a {@link SubscriptionReader} works with. */
export interface SubscriptionReaderParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly admin: QueueAdmin;
  readonly hasEndpoints: () => Promise<boolean>;
  /** Ids of those that handlers of this application declare. */
  readonly declared: ReadonlySet<string>;
  /** How many of each topic and subscription wait. */
  readonly counts: () => Promise<readonly CountJson[]>;
}

/** Reads subscriptions with how their deliveries do. No header's value and no parameter of a URL leaves it. */
export class SubscriptionReader {
  readonly #parts: SubscriptionReaderParts;

  constructor(parts: SubscriptionReaderParts) {
    this.#parts = parts;
  }

  /** @throws {TarefaError} `SUBSCRIPTIONS_UNAVAILABLE` */
  async list(): Promise<SubscriptionsJson> {
    return { subscriptions: await this.#describe(await this.#parts.admin.subscriptions.list()) };
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`, `SUBSCRIPTIONS_UNAVAILABLE` */
  async find(id: string): Promise<SubscriptionJson> {
    const record = await this.#parts.admin.subscriptions.find(id);
    const [subscription] = record ? await this.#describe([record]) : [];
    if (!subscription) throw subscriptionNotFound(id);
    return subscription;
  }

  /** True for one that a handler of this application makes again at its next start. */
  isDeclared(id: string): boolean {
    return this.#parts.declared.has(id);
  }

  async #describe(records: readonly SubscriptionRecord[]): Promise<readonly SubscriptionJson[]> {
    const { handle, tables, admin, counts } = this.#parts;
    const history = await readHistory(handle, tables, { range: 'hour' });
    const byRoute = new Map(history.routes.map((one) => [one.route, one]));
    const waiting = await counts();
    const endpoints = await this.#endpoints();
    const paused = new Set(
      (await admin.paused()).flatMap((pause) => ('subscriptionId' in pause ? [pause.subscriptionId] : [])),
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
    const { handle, tables, hasEndpoints } = this.#parts;
    if (!(await hasEndpoints())) return undefined;
    const { rows } = await queryReadable(handle, readEndpoints(tables), []);
    return new Map(
      rows.map((row) => [
        String(row['subscriber_id']),
        {
          failures: Number(row['failures']),
          failingSince: timeJson(readDate(row['failing_since'])),
          lastSuccessAt: timeJson(readDate(row['last_success_at'])),
          restsUntil: timeJson(readDate(row['open_until'])),
          deactivatedAt: timeJson(readDate(row['deactivated_at'])),
          deactivatedFor: readText(row['deactivated_for']),
          signed: Number(row['secrets']) > 0,
        },
      ]),
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
