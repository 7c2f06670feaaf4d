import { isHarmlessHeader } from '../values/secret-headers.js';
import { version } from '../version.js';
import { WebhookFailure } from './webhook-failure.js';

/** Said by the connection, or by the library itself; a subscription does not set them. */
const reserved = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const reservedPrefixes = ['proxy-', 'webhook-'];

const nameShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Tabs, and characters that one byte holds: others cannot be written.
const valueShape = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The header fields of a request: the subscription's, checked, and the library's own where those say nothing.
 * Names come out in lower case.
 *
 * @throws {WebhookFailure} `refused-request`; names the field, never its value
 */
export function requestHeaders(
  given: Readonly<Record<string, string>> | null | undefined,
  body: string | null,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries<unknown>(given ?? {})) {
    const key = name.toLowerCase();
    if (!nameShape.test(name)) throw refusal(name, 'is not a valid header name');
    if (reserved.has(key) || reservedPrefixes.some((prefix) => key.startsWith(prefix))) {
      throw refusal(name, 'cannot be set by a subscription');
    }
    if (key in headers) throw refusal(name, 'is given twice');
    headers[key] = readValue(name, value);
  }
  headers['user-agent'] ??= `tarefa/${version}`;
  // What comes compressed anyway is not unpacked: a kilobyte could hold a gigabyte.
  headers['accept-encoding'] ??= 'identity';
  if (body !== null && headers['content-type'] === undefined && isJson(body)) {
    headers['content-type'] = 'application/json';
  }
  return headers;
}

/** What of a request's header fields goes to another origin. */
export function harmlessHeaders(
  headers: Readonly<Record<string, string>>,
  withBody: boolean,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => isHarmlessHeader(name) && (withBody || name !== 'content-type'),
    ),
  );
}

function readValue(name: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw refusal(name, 'has a value that is not text');
  }
  const text = String(value);
  if (/[\r\n\0]/.test(text)) throw refusal(name, 'has a line break in its value');
  if (!valueShape.test(text)) throw refusal(name, 'has a character in its value that headers cannot contain');
  return text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function refusal(name: string, reason: string): WebhookFailure {
  return new WebhookFailure('refused-request', `header ${JSON.stringify(name.slice(0, 100))} ${reason}`);
}
