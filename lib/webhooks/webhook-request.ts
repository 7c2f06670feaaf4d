import type { HttpRequest } from './http-message.js';
import { requestHeaders } from './request-headers.js';
import { sign } from './signature.js';
import { WebhookFailure } from './webhook-failure.js';
import { hasBody, readWebhookMethod } from '../values/webhook-method.js';

/** What is to be sent. */
export interface WebhookRequest {
  readonly url: string;
  /** GET, POST, PUT or DELETE, in any case. */
  readonly method: string | null;
  /** The subscription's. */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** Sent by POST and PUT, exactly so, in UTF-8. */
  readonly body?: string | null | undefined;
  /** Same over all attempts of a delivery: see `webhookId`. */
  readonly id: string;
  /** Of this attempt, in seconds since 1970. Default: now. */
  readonly timestamp?: number | undefined;
  /** Each signs; none: the request is not signed. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * The request to write for a webhook, signed over the bytes that are sent.
 *
 * @throws {WebhookFailure} `refused-request`
 * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`, `INPUT_INVALID`
 */
export function httpRequest(request: WebhookRequest, url: URL): HttpRequest {
  const method = readMethod(request.method);
  const text = hasBody(method) ? (request.body ?? '') : null;
  const body = text === null ? null : Buffer.from(text);
  const { id, timestamp = Math.floor(Date.now() / 1_000), secrets = [] } = request;
  const headers = {
    ...requestHeaders(request.headers, text === '' ? null : text),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    ...(secrets.length > 0 && { 'webhook-signature': sign(secrets, { id, timestamp, body: body ?? '' }) }),
  };
  return { url, method, headers, body };
}

function readMethod(given: string | null): string {
  const method = readWebhookMethod(given);
  if (method !== undefined) return method;
  const found = given?.trim() ? `not ${JSON.stringify(given.trim().slice(0, 20))}` : 'but there is none';
  throw new WebhookFailure(
    'refused-request',
    `the method of a webhook must be GET, POST, PUT or DELETE, ${found}`,
  );
}
