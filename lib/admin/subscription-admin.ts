import { readText } from '../client/task-input.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { TarefaError } from '../errors.js';
import type { Some } from '../values/without-unset.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { columnLength, readBoolean, readDate, readJson, readText as textOf } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { queryReadable, type ReadRows } from '../storage/postgres/readable-rows.js';
import { countSecrets } from '../storage/postgres/statements/webhooks.js';
import type { Subscription } from '../task.js';
import { secretHeaders } from '../webhooks/request-headers.js';
import { originOf } from '../webhooks/webhook-url.js';
import { fieldNames, readId, valuesOf, type GivenSubscription } from './subscription-input.js';

/** A subscription as it stands in its table. */
export interface SubscriptionRecord extends Subscription {
  /** False: its topic's publications make no delivery for it. */
  readonly active: boolean;
  readonly createdAt: Date | null;
}

/** A subscription to write. What is left out is null, unless it says otherwise. */
export interface SubscriptionInput {
  /** What `@Subscriber` names. At most 100 characters. */
  readonly id: string;
  readonly topic: string;
  /** Only publications of this tenant; null: of all. */
  readonly tenant?: string | number | bigint | null | undefined;
  /** Only publications of this group; null: of all. */
  readonly group?: string | null | undefined;
  /** Where deliveries are sent as webhooks; null: code handles them. */
  readonly url?: string | null | undefined;
  /** Default `POST` where there is a URL. */
  readonly httpMethod?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** Default true. */
  readonly active?: boolean | undefined;
}

/** What webhooks have to do with subscriptions. */
export interface WebhookKeeper {
  /** Throws what is wrong with a URL or its headers, before they are stored. */
  check(subscription: Pick<SubscriptionInput, 'url' | 'headers'>): void;
  /**
   * A subscription is about to lead to another origin (null: to none): what signed for the old one must not sign for it.
   * Without this a subscription that is signed cannot be changed so.
   */
  move?(subscriptionId: string, from: string | null, to: string | null): Promise<void>;
  /** A subscription is gone, and its secrets with it: another one may get its id. */
  forget(subscriptionId: string): Promise<void>;
}

/** Reads and writes a queue's subscriptions. Deliveries that were made stay what they are. */
export class SubscriptionAdmin {
  readonly #handle: SqlHandle;
  readonly #tables: Pick<QueueTables, 'subscriptions' | 'webhooks'>;
  #webhooks: WebhookKeeper | undefined;

  /** @param tables quoted; without subscriptions where publications are switched off */
  constructor(handle: SqlHandle, tables: Pick<QueueTables, 'subscriptions' | 'webhooks'>) {
    this.#handle = handle;
    this.#tables = tables;
  }

  /** @internal Where webhooks are delivered. */
  attach(webhooks: WebhookKeeper): void {
    this.#webhooks = webhooks;
  }

  /** All of them, or those of one topic, by id. */
  async list(options: { readonly topic?: string | undefined } = {}): Promise<readonly SubscriptionRecord[]> {
    const { topic } = readFields('what is given besides', options, ['topic']);
    const rows = await this.#read(
      (table) => `-- name: list_subscriptions
select ${fields} from ${table} s where $1::text is null or s.processo = $1::text order by s.id`,
      [readText('topic', topic, columnLength.topic)],
    );
    return rows.map(readSubscription);
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    const [row] = await this.#read(
      (table) => `-- name: find_subscription
select ${fields} from ${table} s where s.id = $1::text`,
      [readId(id)],
    );
    return row && readSubscription(row);
  }

  /**
   * Adds a subscription.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_EXISTS`
   */
  async add(input: SubscriptionInput): Promise<SubscriptionRecord> {
    const given = readFields('a subscription', input, fieldNames);
    const [row] = await this.#ask(
      (table) => `-- name: add_subscription
insert into ${table} as s (id, processo, tenant, grupo_empresarial, url, http_method, headers, ativo)
values ($1::text, $2::text, $3::text::bigint, $4::text, $5::text, $6::text, $7::text::json, $8::boolean)
on conflict (id) do nothing
returning ${fields}`,
      this.#valuesOf(given),
    );
    if (row) return readSubscription(row);
    throw new TarefaError(
      'SUBSCRIPTION_EXISTS',
      `there is a subscription '${String(given.id)}' already: update it`,
    );
  }

  /**
   * Changes what is given of a subscription; the rest stays. What was a secret between the old URL and this queue is none of a
   * new origin's (scheme, host and port) business: its headers have to be given anew then, and its deliveries are signed with
   * a new secret, which `QueueWebhooks.createSecret()` makes known.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_NOT_FOUND`
   */
  async update(id: string, changes: Some<Omit<SubscriptionInput, 'id'>>): Promise<SubscriptionRecord> {
    const given = Object.fromEntries(
      Object.entries(readFields('what changes', changes, fieldNames)).filter(
        ([, value]) => value !== undefined,
      ),
    ) as GivenSubscription;
    const present = await this.find(id);
    if (!present) throw subscriptionNotFound(id);
    const next = { ...present, ...given, id };
    const values = this.#valuesOf(next, { isNew: 'url' in given || 'headers' in given });
    if ('url' in given) await this.#leadTo(next.url as string | null, present, 'headers' in given);
    const [row] = await this.#ask(
      (table) => `-- name: update_subscription
update ${table} s
set processo = $2::text, tenant = $3::text::bigint, grupo_empresarial = $4::text, url = $5::text,
  http_method = $6::text, headers = $7::text::json, ativo = $8::boolean
where s.id = $1::text
returning ${fields}`,
      values,
    );
    if (!row) throw subscriptionNotFound(id);
    return readSubscription(row);
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND` */
  async remove(id: string): Promise<void> {
    const rows = await this.#ask(
      (table) => `-- name: remove_subscription
delete from ${table} s where s.id = $1::text returning s.id`,
      [readId(id)],
    );
    if (rows.length === 0) throw subscriptionNotFound(id);
    await this.#webhooks?.forget(id);
  }

  /** Before it is stored: until then the old origin is told what it was told so far. */
  async #leadTo(url: string | null, present: SubscriptionRecord, hasNewHeaders: boolean): Promise<void> {
    const [from, to] = [originOf(present.url), originOf(url)];
    if (from === to) return;
    const secret = secretHeaders(present.headers);
    if (to !== null && secret.length > 0 && !hasNewHeaders) {
      throw new TarefaError(
        'INPUT_INVALID',
        `the URL of ${shownValue(present.id)} would lead to ${to} ${from === null ? '' : `instead of ${from} `}with the headers that are stored ` +
          `(${secret.join(', ')}), which may be keys: give headers together with the URL, all of them, or null for none`,
      );
    }
    if (this.#webhooks?.move) return this.#webhooks.move(present.id, from, to);
    if (to === null || !(await this.#isSigned(present.id))) return;
    throw new TarefaError(
      'INPUT_INVALID',
      `the deliveries of ${shownValue(present.id)} are signed, and ${to} needs a secret of its own: change its URL in a process whose option webhooks is on`,
    );
  }

  async #isSigned(id: string): Promise<boolean> {
    const { webhooks } = this.#tables;
    const { rows: tables } = await this.#handle.query('select to_regclass($1::text) is not null as found', [
      webhooks,
    ]);
    if (tables[0]?.['found'] !== true) return false;
    const { rows } = await this.#handle.query(countSecrets(this.#tables), [id]);
    return Number(rows[0]?.['n']) > 0;
  }

  /** A webhook that stands there already, and could not be sent, keeps nobody from changing the rest. */
  #valuesOf(input: GivenSubscription, { isNew } = { isNew: true }): unknown[] {
    const values = valuesOf(input);
    if (isNew && typeof input.url === 'string') {
      try {
        this.#webhooks?.check({
          url: input.url,
          headers: (input.headers as SubscriptionInput['headers']) ?? null,
        });
      } catch (error) {
        throw new TarefaError('INPUT_INVALID', `the webhook cannot be sent: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    return values;
  }

  #ask(text: (table: string) => string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return this.#query(text, values, (handle, ...query) => handle.query(...query));
  }

  #read(text: (table: string) => string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return this.#query(text, values, queryReadable);
  }

  async #query(
    text: (table: string) => string,
    values: unknown[],
    query: ReadRows,
  ): Promise<Record<string, unknown>[]> {
    const { subscriptions } = this.#tables;
    if (subscriptions === undefined) {
      throw new TarefaError(
        'SUBSCRIPTIONS_UNAVAILABLE',
        'this queue has no subscriptions: subscriptionTable is false',
      );
    }
    return (await query(this.#handle, text(subscriptions), values)).rows;
  }
}

const fields = `s.id, s.processo, s.tenant::text as tenant, s.grupo_empresarial, s.url, s.http_method,
  s.headers::text as headers, s.ativo, s.created_at`;

function readSubscription(row: Record<string, unknown>): SubscriptionRecord {
  return {
    id: String(row['id']),
    topic: String(row['processo']),
    tenant: textOf(row['tenant']),
    group: textOf(row['grupo_empresarial']),
    url: textOf(row['url']),
    httpMethod: textOf(row['http_method']),
    headers: readHeaderFields(row['headers']),
    active: readBoolean(row['ativo']),
    createdAt: readDate(row['created_at']),
  };
}

/** JSON that is no object holds no headers; values that are no texts are shown as JSON writes them. */
function readHeaderFields(value: unknown): Record<string, string> | null {
  const json: unknown = readJson(value);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return null;
  return Object.fromEntries(
    Object.entries(json).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)]),
  );
}

/** What is said of a subscription that is not there. */
export function subscriptionNotFound(id: string): TarefaError {
  return new TarefaError('SUBSCRIPTION_NOT_FOUND', `there is no subscription ${shownValue(id)}`);
}
