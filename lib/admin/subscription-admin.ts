import { readTenant, readText } from '../client/task-input.js';
import type { SqlHandle } from '../client/sql-handle.js';
import { TarefaError } from '../queue.errors.js';
import { columnLength, readBoolean, readDate, readText as textOf } from '../storage/columns.js';
import type { Subscription } from '../task.js';
import { readWebhookMethod, webhookMethods } from '../webhooks/webhook-method.js';

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
  readonly tenant?: string | number | bigint | null;
  /** Only publications of this group; null: of all. */
  readonly group?: string | null;
  /** Where deliveries are sent as webhooks; null: code handles them. */
  readonly url?: string | null;
  /** Default `POST` where there is a URL. */
  readonly httpMethod?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  /** Default true. */
  readonly active?: boolean;
}

/** What webhooks have to do with subscriptions. */
export interface WebhookKeeper {
  /** Throws what is wrong with a URL or its headers, before they are stored. */
  check(subscription: Pick<SubscriptionInput, 'url' | 'headers'>): void;
  /** A subscription is gone, and its secrets with it: another one may get its id. */
  forget(subscriptionId: string): Promise<void>;
}

const longestUrl = 2_048;

/** Reads and writes a queue's subscriptions. Deliveries that were made stay what they are. */
export class SubscriptionAdmin {
  readonly #handle: SqlHandle;
  readonly #table: string | undefined;
  #webhooks: WebhookKeeper | undefined;

  /** @param table quoted; undefined where publications are switched off */
  constructor(handle: SqlHandle, table: string | undefined) {
    this.#handle = handle;
    this.#table = table;
  }

  /** @internal Where webhooks are delivered. */
  attach(webhooks: WebhookKeeper): void {
    this.#webhooks = webhooks;
  }

  /** All of them, or those of one topic, by id. */
  async list({ topic }: { readonly topic?: string } = {}): Promise<readonly SubscriptionRecord[]> {
    const rows = await this.#ask(
      (table) => `-- name: list_subscriptions
select ${fields} from ${table} s where $1::text is null or s.processo = $1::text order by s.id`,
      [topic ?? null],
    );
    return rows.map(readSubscription);
  }

  async find(id: string): Promise<SubscriptionRecord | undefined> {
    const [row] = await this.#ask(
      (table) => `-- name: find_subscription
select ${fields} from ${table} s where s.id = $1::text`,
      [id],
    );
    return row && readSubscription(row);
  }

  /**
   * Adds a subscription.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_EXISTS`
   */
  async add(input: SubscriptionInput): Promise<SubscriptionRecord> {
    const [row] = await this.#ask(
      (table) => `-- name: add_subscription
insert into ${table} as s (id, processo, tenant, grupo_empresarial, url, http_method, headers, ativo)
values ($1::text, $2::text, $3::text::bigint, $4::text, $5::text, $6::text, $7::text::json, $8::boolean)
on conflict (id) do nothing
returning ${fields}`,
      this.#valuesOf(input),
    );
    if (row) return readSubscription(row);
    throw new TarefaError('SUBSCRIPTION_EXISTS', `there is a subscription '${input.id}' already: update it`);
  }

  /**
   * Changes what is given of a subscription; the rest stays.
   *
   * @throws {TarefaError} `INPUT_INVALID`; `SUBSCRIPTION_NOT_FOUND`
   */
  async update(id: string, changes: Partial<Omit<SubscriptionInput, 'id'>>): Promise<SubscriptionRecord> {
    const present = await this.find(id);
    if (!present) throw subscriptionNotFound(id);
    const [row] = await this.#ask(
      (table) => `-- name: update_subscription
update ${table} s
set processo = $2::text, tenant = $3::text::bigint, grupo_empresarial = $4::text, url = $5::text,
  http_method = $6::text, headers = $7::text::json, ativo = $8::boolean
where s.id = $1::text
returning ${fields}`,
      this.#valuesOf({ ...present, ...changes, id }, { isNew: 'url' in changes || 'headers' in changes }),
    );
    if (!row) throw subscriptionNotFound(id);
    return readSubscription(row);
  }

  /** @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND` */
  async remove(id: string): Promise<void> {
    const rows = await this.#ask(
      (table) => `-- name: remove_subscription
delete from ${table} s where s.id = $1::text returning s.id`,
      [id],
    );
    if (rows.length === 0) throw subscriptionNotFound(id);
    await this.#webhooks?.forget(id);
  }

  /** A webhook that stands there already, and could not be sent, keeps nobody from changing the rest. */
  #valuesOf(input: SubscriptionInput, { isNew } = { isNew: true }): unknown[] {
    const values = valuesOf(input);
    if (isNew && typeof input.url === 'string') {
      try {
        this.#webhooks?.check(input);
      } catch (error) {
        throw new TarefaError('INPUT_INVALID', `the webhook cannot be sent: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    return values;
  }

  async #ask(text: (table: string) => string, values: unknown[]): Promise<Record<string, unknown>[]> {
    if (this.#table === undefined) {
      throw new TarefaError(
        'SUBSCRIPTIONS_UNAVAILABLE',
        'this queue has no subscriptions: subscriptionTable is false',
      );
    }
    return (await this.#handle.query(text(this.#table), values)).rows;
  }
}

const fields = `s.id, s.processo, s.tenant::text as tenant, s.grupo_empresarial, s.url, s.http_method,
  s.headers::text as headers, s.ativo, s.created_at`;

function readSubscription(row: Record<string, unknown>): SubscriptionRecord {
  const headers = textOf(row['headers']);
  return {
    id: String(row['id']),
    topic: String(row['processo']),
    tenant: textOf(row['tenant']),
    group: textOf(row['grupo_empresarial']),
    url: textOf(row['url']),
    httpMethod: textOf(row['http_method']),
    headers: headers === null ? null : (JSON.parse(headers) as Record<string, string>),
    active: readBoolean(row['ativo']),
    createdAt: readDate(row['created_at']),
  };
}

/** @throws {TarefaError} `INPUT_INVALID` */
function valuesOf(input: SubscriptionInput): unknown[] {
  const { id, topic, tenant, group, url, httpMethod, headers, active = true } = input;
  if (!readText('id', id, columnLength.subscriptionId)) throw invalid('id', id, 'must be text');
  if (!readText('topic', topic, columnLength.topic)) throw invalid('topic', topic, 'must be text');
  if (typeof active !== 'boolean') throw invalid('active', active, 'must be true or false');
  return [
    id,
    topic,
    readTenant(tenant),
    readText('group', group, columnLength.group),
    readUrl(url),
    readMethod(httpMethod ?? (typeof url === 'string' ? 'POST' : null)),
    readHeaders(headers),
    active,
  ];
}

function readUrl(url: SubscriptionInput['url']): string | null {
  if (url === undefined || url === null) return null;
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw invalid('url', url, 'must be an address that begins with http:// or https://');
  }
  return readText('url', url, longestUrl);
}

function readMethod(method: SubscriptionInput['httpMethod']): string | null {
  if (method === undefined || method === null) return null;
  const read = typeof method === 'string' ? readWebhookMethod(method) : undefined;
  if (read !== undefined) return read;
  throw invalid('httpMethod', method, `must be one of ${webhookMethods.join(', ')}`);
}

function readHeaders(headers: SubscriptionInput['headers']): string | null {
  if (headers === undefined || headers === null) return null;
  try {
    // Refuses names and values that no request can carry.
    for (const [name, value] of Object.entries(headers)) {
      if (typeof value !== 'string') throw new TypeError(`${name} is no text`);
      void new Headers([[name, value]]);
    }
  } catch (error) {
    throw invalid(
      'headers',
      JSON.stringify(headers),
      `must be an object of texts: ${(error as Error).message}`,
    );
  }
  return JSON.stringify(headers);
}

/** What is said of a subscription that is not there. */
export function subscriptionNotFound(id: string): TarefaError {
  return new TarefaError('SUBSCRIPTION_NOT_FOUND', `there is no subscription ${JSON.stringify(id)}`);
}

function invalid(field: string, value: unknown, problem: string): TarefaError {
  return new TarefaError('INPUT_INVALID', `${field} ${problem} (got ${JSON.stringify(value)})`);
}
