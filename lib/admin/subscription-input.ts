import { readTenant, readText } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import { shownValue } from '../values/shown-value.js';
import { columnLength } from '../storage/columns.js';
import type { SubscriptionValues } from '../storage/subscriptions.js';
import { readWebhookMethod, webhookMethods } from '../values/webhook-method.js';

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

/** What a program gave as a subscription, whatever it is. */
export type GivenSubscription = Readonly<Partial<Record<keyof SubscriptionInput, unknown>>>;

const known: Readonly<Record<keyof SubscriptionInput, true>> = {
  id: true,
  topic: true,
  tenant: true,
  group: true,
  url: true,
  httpMethod: true,
  headers: true,
  active: true,
};

/** Names of what a {@link SubscriptionInput} may say. */
export const fieldNames = Object.keys(known) as readonly (keyof SubscriptionInput)[];

const longestUrl = 2_048;

/** @throws {TarefaError} `INPUT_INVALID` */
export function readId(id: unknown): string {
  const read = readText('id', id, columnLength.subscriptionId);
  if (read) return read;
  throw invalid('id', 'must be text', id);
}

/**
 * Checks what is written of a subscription.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function valuesOf(input: GivenSubscription): SubscriptionValues {
  const { id, topic, tenant, group, url, httpMethod, headers, active = true } = input;
  const read = readText('topic', topic, columnLength.topic);
  if (!read) throw invalid('topic', 'must be text', topic);
  if (typeof active !== 'boolean') throw invalid('active', 'must be true or false', active);
  return {
    id: readId(id),
    topic: read,
    tenant: readTenant(tenant),
    group: readText('group', group, columnLength.group),
    url: readUrl(url),
    httpMethod: readMethod(httpMethod ?? (typeof url === 'string' ? 'POST' : null)),
    headers: readHeaders(headers),
    active,
  };
}

/** Its message leaves the address out: it may hold a password. */
function readUrl(url: unknown): string | null {
  if (url === undefined || url === null) return null;
  const protocol = typeof url === 'string' && URL.canParse(url) ? new URL(url).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return readText('url', url, longestUrl);
  throw invalid('url', 'must be an address that begins with http:// or https://');
}

function readMethod(method: unknown): string | null {
  if (method === null) return null;
  const read = typeof method === 'string' ? readWebhookMethod(method) : undefined;
  if (read !== undefined) return read;
  throw invalid('httpMethod', `must be one of ${webhookMethods.join(', ')}`, method);
}

/** Refuses names and values that no request can carry; its messages leave the values out. */
function readHeaders(headers: unknown): Record<string, string> | null {
  if (headers === undefined || headers === null) return null;
  const problem = 'must be an object of strings';
  let given: readonly (readonly [string, unknown])[];
  try {
    // A list or a text has entries too, and a Map or Headers has none, whatever is in it.
    if (Object.prototype.toString.call(headers) !== '[object Object]') throw new TypeError();
    given = Object.entries(headers);
  } catch {
    throw invalid('headers', problem, headers);
  }
  const entries = given.map(([name, value]) => {
    if (typeof value !== 'string') throw invalid('headers', `${problem}: ${name} is not a string`);
    try {
      void new Headers([[name, value]]);
    } catch {
      throw invalid(
        'headers',
        `${problem}: ${JSON.stringify(name)} or its value contains a character that headers cannot have`,
      );
    }
    return [name, value] as const;
  });
  // What was checked, though its getters may say something else the next time.
  return Object.fromEntries(entries);
}

/** @param got left out where it may be secret */
function invalid(field: string, problem: string, ...got: readonly unknown[]): TarefaError {
  const shown = got.length === 0 ? '' : ` (got ${shownValue(got[0])})`;
  return new TarefaError('INPUT_INVALID', `${field} ${problem}${shown}`);
}
