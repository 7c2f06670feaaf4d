import { isIP } from 'node:net';
import type { AddressPolicy } from './address-policy.js';
import { WebhookFailure } from './webhook-failure.js';

/** Characters of a URL that is accepted. */
const longestUrl = 2_048;
/** Characters of a URL that is shown. */
const longestShown = 200;

/**
 * Reads a URL that webhooks are sent to, and refuses what can be refused without asking a name server. Use it
 * when a subscription is saved, too; the client uses it again for every request and redirect.
 *
 * @throws {WebhookFailure} `refused-url`, `refused-address`
 */
export function readWebhookUrl(text: string, policy: AddressPolicy): URL {
  if (text.length > longestUrl) {
    throw new WebhookFailure(
      'refused-url',
      `the URL has ${text.length} characters; at most ${longestUrl} are allowed`,
    );
  }
  // The parser rewrites every spelling of an address (0x7f.1, 2130706433, ①②⑦.1) into its one plain form.
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url)
    throw new WebhookFailure('refused-url', 'the URL is not valid: it must have the form https://host/path');
  const host = hostOf(url);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new WebhookFailure('refused-url', `webhooks are sent over https or http, not ${url.protocol}`, {
      host,
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new WebhookFailure(
      'refused-url',
      `the URL of ${host} contains a user or password: send it as a header instead`,
      { host },
    );
  }
  checkHost(host, policy);
  return url;
}

/** The host as it is resolved and compared: lower case, without brackets and the final dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** True for names that mean this computer, whatever a name server says. */
export function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** A URL without what may be secret: its query, user and password. At most 200 characters. */
export function describeUrl(url: URL | string): string {
  const parsed = typeof url === 'string' ? (URL.canParse(url) ? new URL(url) : undefined) : url;
  if (!parsed) return '(no URL)';
  const text = `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

/** The failure for an address that webhooks may not reach. Its message leaves the address out. */
export function refusedAddress(host: string, kind: string, address: string): WebhookFailure {
  const means = isIP(host) === 0 ? 'resolves to' : 'is';
  return new WebhookFailure(
    'refused-address',
    `${host} ${means} ${kind === 'unspecified' || kind === 'unreadable' ? 'an' : 'a'} ${kind} address, which webhooks may not reach`,
    { host, address },
  );
}

function checkHost(host: string, policy: AddressPolicy): void {
  const addresses = isLocalhost(host) ? ['127.0.0.1', '::1'] : isIP(host) === 0 ? [] : [host];
  for (const address of addresses) {
    const kind = policy.refusal(address, host);
    if (kind !== undefined) throw refusedAddress(host, kind, address);
  }
}
