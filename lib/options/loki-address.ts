import type { OptionCheck } from './option-check.js';
import type { LokiOptions } from './loki-options.js';

/** Where Loki is, and what it has to be told to let lines in. */
export interface LokiAddress {
  /** Without credentials: `fetch` refuses them. */
  readonly url: string;
  /** For messages: without credentials and query. */
  readonly shown: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What must not stand in any message, also when an answer repeats it. */
  readonly secrets: readonly string[];
}

interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Undefined when no address is given, or none that can be used. Mistakes never show a value: it may be a secret. */
export function readLokiAddress(
  options: LokiOptions,
  variable: string | undefined,
  check: OptionCheck,
): LokiAddress | undefined {
  const headers = readHeaders(options, check);
  const basicAuth = readBasicAuth(options.basicAuth, check);
  const given: unknown = options.url ?? variable?.trim();
  if (given === undefined || given === '') return undefined;
  const name = options.url === undefined ? 'GRAFANA_URL' : 'loki.url';
  const url = typeof given === 'string' && URL.canParse(given.trim()) ? new URL(given.trim()) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    check.mistake(`${name} must be a URL that begins with http:// or https://`);
    return undefined;
  }
  const fromUrl = readCredentials(url);
  if (!fromUrl) {
    check.mistake(`${name} has a user or password that cannot be read: write special characters as %XX`);
    return undefined;
  }
  const credentials = basicAuth ?? (fromUrl.username || fromUrl.password ? fromUrl : undefined);
  url.username = '';
  url.password = '';
  url.hash = '';
  const query = [...url.searchParams.values()];
  const authorization = credentials && asBasic(credentials);
  return Object.freeze({
    url: url.href,
    shown: `${url.origin}${url.pathname}`,
    headers: Object.freeze({ ...(authorization && { authorization: `Basic ${authorization}` }), ...headers }),
    secrets: Object.freeze(
      [authorization, credentials?.password, ...query, ...Object.values(headers)].filter(
        (one): one is string => one !== undefined && one.length > 2,
      ),
    ),
  });
}

function readCredentials({ username, password }: URL): Credentials | undefined {
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}

function asBasic({ username, password }: Credentials): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

function readBasicAuth(given: unknown, check: OptionCheck): Credentials | undefined {
  if (given === undefined || given === null) return undefined;
  const { username, password } = given as Partial<Record<string, unknown>>;
  if (typeof username === 'string' && typeof password === 'string' && !username.includes(':')) {
    return { username, password };
  }
  check.mistake('loki.basicAuth must be { username, password }: both strings, the user name without a colon');
  return undefined;
}

function readHeaders(
  { headers = {}, tenant }: LokiOptions,
  check: OptionCheck,
): Readonly<Record<string, string>> {
  if (tenant !== undefined && (typeof tenant !== 'string' || tenant === '')) {
    check.mistake('loki.tenant must be text');
  }
  const all: Record<string, unknown> = {
    ...headers,
    ...(tenant !== undefined && { 'X-Scope-OrgID': tenant }),
  };
  try {
    const texts = Object.values(all).every((value) => typeof value === 'string');
    if (texts) return Object.freeze(Object.fromEntries(new Headers(all as Record<string, string>)));
  } catch {
    // Node's message would show the value.
  }
  check.mistake('loki.headers (or loki.tenant) contain a name or a value that HTTP does not allow');
  return {};
}
