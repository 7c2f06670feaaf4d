import type { AddressPolicy } from './address-policy.js';
import type { HttpAnswer, HttpRequest } from './http-message.js';
import { harmlessHeaders } from './request-headers.js';
import { readWebhookUrl } from './webhook-url.js';

const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * The request that follows a redirect, as browsers do it; undefined when the answer is none. Another origin is told
 * neither the signature nor the subscription's header fields, which may be keys to the first one, and its address
 * is subject to the same rules.
 *
 * @throws {WebhookFailure} `refused-url`, `refused-address`
 */
export function nextHop(
  request: HttpRequest,
  answer: HttpAnswer,
  policy: AddressPolicy,
): HttpRequest | undefined {
  const { location } = answer.headers;
  if (!redirects.has(answer.status) || location === undefined) return undefined;
  if (!URL.canParse(location, request.url.href)) return undefined;
  const url = readWebhookUrl(new URL(location, request.url).href, policy);
  const becomesGet =
    answer.status === 303 || (answer.status < 303 && request.method !== 'GET' && request.method !== 'DELETE');
  const body = becomesGet ? null : request.body;
  const sameOrigin = url.origin === request.url.origin;
  // A signature is over the body, so it does not outlive it.
  const kept = sameOrigin && !becomesGet;
  return {
    url,
    method: becomesGet ? 'GET' : request.method,
    headers: kept ? request.headers : withoutSecrets(request, sameOrigin, body !== null),
    body,
  };
}

function withoutSecrets(
  { headers }: HttpRequest,
  sameOrigin: boolean,
  withBody: boolean,
): Readonly<Record<string, string>> {
  if (!sameOrigin) return harmlessHeaders(headers, withBody);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== 'content-type' && name !== 'webhook-signature'),
  );
}
