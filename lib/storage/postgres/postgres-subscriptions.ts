import { TarefaError } from '../../errors.js';
import { readBoolean, readDate, readText } from '../columns.js';
import { readHeaderFields } from '../header-fields.js';
import type {
  DeclaredSubscription,
  SubscriptionRecord,
  SubscriptionRow,
  SubscriptionStore,
  SubscriptionValues,
} from '../subscriptions.js';
import { declareSubscriptions } from './declare-subscriptions.js';
import { rethrowConnectionError, type QueueAccess } from './queue-access.js';
import { queryReadable, type ReadRows } from './readable-rows.js';
import * as sql from './statements/subscriptions.js';

/** {@link SubscriptionStore} in the queue's subscriptions table. */
export class PostgresSubscriptions implements SubscriptionStore {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  async list(topic?: string): Promise<readonly SubscriptionRecord[]> {
    return this.#read(sql.listSubscriptions, [topic ?? null]);
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    const [found] = await this.#read(sql.findSubscription, [id]);
    return found;
  }

  async add(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    const [row] = await this.#ask(sql.addSubscription, valuesOf(subscription));
    return row && readSubscription(row);
  }

  async change(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    const [row] = await this.#ask(sql.changeSubscription, valuesOf(subscription));
    return row && readSubscription(row);
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#ask(sql.removeSubscription, [id])).length > 0;
  }

  async declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[] | undefined> {
    const { pool, schema } = this.#access;
    return declareSubscriptions(pool, schema.tables, declared).catch(rethrowConnectionError);
  }

  async #read(text: (table: string) => string, values: unknown[]): Promise<readonly SubscriptionRecord[]> {
    return (await this.#query(text, values, queryReadable)).map(readSubscription);
  }

  #ask(text: (table: string) => string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return this.#query(text, values, (handle, ...query) => handle.query(...query));
  }

  async #query(
    text: (table: string) => string,
    values: unknown[],
    query: ReadRows,
  ): Promise<Record<string, unknown>[]> {
    const { schema, inserts } = this.#access;
    const { subscriptions } = schema.tables;
    if (subscriptions === undefined) {
      throw new TarefaError(
        'SUBSCRIPTIONS_UNAVAILABLE',
        'this queue has no subscriptions: subscriptionTable is false',
      );
    }
    return (await query(inserts, text(subscriptions), values)).rows;
  }
}

/** In the order of the statements' parameters. */
function valuesOf(subscription: SubscriptionValues): unknown[] {
  const { id, topic, tenant, group, url, httpMethod, headers, active } = subscription;
  return [id, topic, tenant, group, url, httpMethod, headers && JSON.stringify(headers), active];
}

function readSubscription(row: Record<string, unknown>): SubscriptionRecord {
  return {
    id: String(row['id']),
    topic: String(row['processo']),
    tenant: readText(row['tenant']),
    group: readText(row['grupo_empresarial']),
    url: readText(row['url']),
    httpMethod: readText(row['http_method']),
    headers: readHeaderFields(readText(row['headers'])),
    active: readBoolean(row['ativo']),
    createdAt: readDate(row['created_at']),
  };
}
