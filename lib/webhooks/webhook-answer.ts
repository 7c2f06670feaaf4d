import type { HttpAnswer } from './http-message.js';
import { describeUrl } from './webhook-url.js';

/** What a webhook was answered with. */
export interface WebhookAnswer {
  readonly status: number;
  /** 2xx; with `redirects: 'follow'`, which is the older rule, 3xx as well. */
  readonly ok: boolean;
  /** From the call to the end of the answer. */
  readonly durationMs: number;
  /** The header fields that say what to do next. */
  readonly headers: {
    /** For `retryAfterMs`. */
    readonly 'retry-after'?: string;
    /** `abort-message`: no more attempts of this delivery, please. */
    readonly 'webhook-delivery'?: string;
  };
  /** The first part of the body as text; what is no UTF-8 is replaced. As it came: clean it before it is shown. */
  readonly snippet: string;
  /** Where a redirect that was not followed leads to, without its query. */
  readonly location?: string;
}

/** Reads an answer. */
export function readAnswer(
  { status, headers, body }: HttpAnswer,
  url: URL,
  follow: boolean,
  durationMs: number,
): WebhookAnswer {
  const retryAfter = headers['retry-after'];
  const delivery = first(headers['webhook-delivery']);
  const location = status >= 300 && status < 400 ? first(headers.location) : undefined;
  return {
    status,
    ok: status >= 200 && status < (follow ? 400 : 300),
    durationMs,
    headers: {
      ...(retryAfter !== undefined && { 'retry-after': first(retryAfter) ?? '' }),
      ...(delivery !== undefined && { 'webhook-delivery': delivery }),
    },
    snippet: readText(body),
    ...(location !== undefined && URL.canParse(location, url.href)
      ? { location: describeUrl(new URL(location, url)) }
      : {}),
  };
}

/** A character that was cut in half at the end is left out. */
function readText(body: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: false }).decode(body, { stream: true });
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
