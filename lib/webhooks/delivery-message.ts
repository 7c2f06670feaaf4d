import type { WebhookAnswer } from './webhook-answer.js';
import { WebhookFailure } from './webhook-failure.js';
import { describeUrl } from './webhook-url.js';

/** One attempt to deliver a webhook, as it is to be recorded. */
export interface DeliveryRecord {
  readonly method: string | null;
  readonly url: string;
  /** What came back, or why nothing did. */
  readonly outcome: WebhookAnswer | WebhookFailure;
  /** The subscription's; their values do not appear in the message. */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** Do not appear in the message. */
  readonly secrets?: readonly string[] | undefined;
}

/** Characters of the message: what the column takes. */
const longestMessage = 500;
/** Shorter ones are not secrets, and removing every `1` would leave nothing to read. */
const shortestSecret = 4;
const removed = '[removed]';

/** Header fields whose values are everywhere and no secret. */
const publicHeaders = new Set(['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent']);

/**
 * The text that is recorded for an attempt: method, URL without its query, status, duration, and the first part of
 * the answer. At most 500 characters (code points), without control characters, and without the secrets that the
 * request held, should the receiver have sent them back.
 *
 * @example `POST https://hooks.example.com/orders: 503 in 41 ms: {"error":"try later"}`
 */
export function deliveryMessage({ method, url, outcome, headers, secrets }: DeliveryRecord): string {
  const target = `${(method ?? 'no method').toUpperCase()} ${describeUrl(url)}`;
  const text = `${target}: ${describeOutcome(outcome)}`;
  return firstCharacters(cleanText(withoutSecrets(text, findSecrets(url, headers, secrets))), longestMessage);
}

function describeOutcome(outcome: WebhookAnswer | WebhookFailure): string {
  if (outcome instanceof WebhookFailure) {
    const duration = outcome.durationMs === undefined ? '' : ` after ${outcome.durationMs} ms`;
    return `${outcome.kind}${duration}: ${outcome.message}`;
  }
  const { status, durationMs, location, snippet } = outcome;
  const redirect = location === undefined ? '' : ` (redirect to ${location}, not followed)`;
  return `${status}${redirect} in ${durationMs} ms${snippet.trim() === '' ? '' : `: ${snippet}`}`;
}

/** Everything of the request that was secret, in the spellings that an answer may repeat it in; longest first. */
function findSecrets(
  url: string,
  headers: DeliveryRecord['headers'],
  secrets: readonly string[] = [],
): readonly string[] {
  const found = [...secrets, ...secrets.map((secret) => secret.replace(/^wh(?:sec|sk)_/, ''))];
  for (const [name, value] of Object.entries<unknown>(headers ?? {})) {
    if (!publicHeaders.has(name.toLowerCase())) found.push(...secretsOfHeader(String(value)));
  }
  if (URL.canParse(url)) {
    const { search, searchParams, username, password } = new URL(url);
    found.push(search.slice(1), ...searchParams.values(), username, password);
  }
  return found
    .flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret.toWellFormed()),
    ])
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
}

/** The whole value, what follows a scheme such as `Bearer`, and what `Basic` holds. */
function secretsOfHeader(value: string): readonly string[] {
  const [, scheme = '', credentials] = /^([\w-]+)\s+(\S.*)$/.exec(value) ?? [];
  if (credentials === undefined) return [value];
  if (scheme.toLowerCase() !== 'basic') return [value, credentials];
  const plain = Buffer.from(credentials, 'base64').toString();
  return [value, credentials, plain, plain.slice(plain.indexOf(':') + 1)];
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .reduce((rest, secret) => rest.replaceAll(secret, removed), text)
    .replace(/\b(bearer|basic|token)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${removed}`)
    .replace(/\bwh(?:sec|sk)_[\w+/=-]{8,}/g, removed);
}

/** On one line, without what a terminal or a page could take for a command, such as a change of direction. */
function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim();
}

function firstCharacters(text: string, most: number): string {
  if (text.length <= most) return text;
  return Array.from(text.slice(0, most * 2))
    .slice(0, most)
    .join('');
}
