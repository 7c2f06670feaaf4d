import type { HttpAnswer } from './http-message.js';
import { describeUrl } from './webhook-url.js';

/** Characters of an encoding or type that are worth recording. */
const longestName = 100;

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
  /**
   * The first part of the body as text; bytes that are not UTF-8 are replaced. Of a compressed body, which is not
   * unpacked, its encoding, type and size. Clean it before it is shown.
   */
  readonly snippet: string;
  /** Where a redirect that was not followed leads to, without its query. */
  readonly location?: string;
}

/** Reads an answer. */
export function readAnswer(
  received: HttpAnswer,
  url: URL,
  follow: boolean,
  durationMs: number,
): WebhookAnswer {
  const { status, headers } = received;
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
    snippet: readSnippet(received),
    ...(location !== undefined && URL.canParse(location, url.href)
      ? { location: describeUrl(new URL(location, url)) }
      : {}),
  };
}

/** Compressed bytes tell a reader nothing, and unpacking them would let a receiver make megabytes of a few bytes. */
function readSnippet(answer: HttpAnswer): string {
  const encodings = encodingsOf(answer);
  return encodings === '' || answer.bytes === 0 ? readText(answer.body) : describeBody(answer, encodings);
}

/** What the body is packed in, in the order of packing; empty for plain text. */
function encodingsOf({ headers }: HttpAnswer): string {
  return [headers['content-encoding'] ?? []]
    .flat()
    .flatMap((value) => value.toLowerCase().split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '' && value !== 'identity')
    .join(', ');
}

/** @example `[gzip, application/json, 512 bytes]` */
function describeBody({ headers, bytes, cut }: HttpAnswer, encodings: string): string {
  const type = headers['content-type'] ?? 'no content type';
  const size = cut ? `more than ${bytes} bytes` : `${bytes} bytes`;
  return `[${encodings.slice(0, longestName)}, ${type.slice(0, longestName)}, ${size}]`;
}

/** A character that was cut in half at the end is left out. */
function readText(body: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: false }).decode(body, { stream: true });
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
