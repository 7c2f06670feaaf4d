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
import { rowsOf } from './administration/answered.js';
import { declareSubscriptions } from './administration/declare-subscriptions.js';
import { isTaken } from './administration/taken.js';
import type { TextRow } from './connections/answers.js';
import type { MysqlAccess } from './mysql-access.js';
import * as sql from './statements/subscriptions.js';

/** {@link SubscriptionStore} in the queue's subscriptions table. */
export class MysqlSubscriptions implements SubscriptionStore {
  readonly #access: MysqlAccess;

  constructor(access: MysqlAccess) {
    this.#access = access;
  }

  async list(topic?: string): Promise<readonly SubscriptionRecord[]> {
    const rows = await (topic === undefined
      ? this.#ask(sql.listSubscriptions)
      : this.#ask(sql.listOfTopic, [topic]));
    return rows.map(readSubscription);
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    const [row] = await this.#ask(sql.findSubscription, [id]);
    return row && readSubscription(row);
  }

  async add(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    try {
      return await this.#write(sql.addSubscription, subscription);
    } catch (error) {
      if (isTaken(error)) return undefined;
      throw error;
    }
  }

  async change(subscription: SubscriptionValues): Promise<SubscriptionRecord | undefined> {
    return this.#write(sql.changeSubscription, subscription);
  }

  async remove(id: string): Promise<boolean> {
    const { changed } = await this.#access.own.query(sql.removeSubscription(this.#table), [id]);
    return changed > 0;
  }

  declare(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[] | undefined> {
    const { own, tables } = this.#access;
    return own.use((run) => declareSubscriptions(run, tables, declared));
  }

  /** Writes and reads in one transaction; where there is nothing to change there is nothing to read. */
  #write(
    text: (table: string) => string,
    subscription: SubscriptionValues,
  ): Promise<SubscriptionRecord | undefined> {
    const table = this.#table;
    return this.#access.own.transaction(async (run) => {
      await run(text(table), valuesOf(subscription));
      const [row] = await rowsOf(run, sql.findSubscription(table), [subscription.id]);
      return row && readSubscription(row);
    });
  }

  async #ask(text: (table: string) => string, values?: readonly unknown[]): Promise<readonly TextRow[]> {
    return (await this.#access.own.query(text(this.#table), values)).rows;
  }

  get #table(): string {
    const { subscriptions } = this.#access.tables;
    if (subscriptions !== undefined) return subscriptions;
    throw new TarefaError(
      'SUBSCRIPTIONS_UNAVAILABLE',
      'this queue has no subscriptions: subscriptionTable is false',
    );
  }
}

/** In the order of the statements' parameters. */
function valuesOf(subscription: SubscriptionValues): unknown[] {
  const { id, topic, tenant, group, url, httpMethod, headers, active } = subscription;
  return [topic, tenant, group, url, httpMethod, headers && JSON.stringify(headers), active, id];
}

function readSubscription(row: TextRow): SubscriptionRecord {
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
