import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { retryAfterMs } from '../../values/retry-after.js';
import { cleanText } from '../clean-text.js';
import type { LokiAddress } from '../../options/loki-address.js';

const compress = promisify(gzip);

/** Bytes of an answer that are read: enough for what it says. */
const mostAnswer = 2_048;
/** Characters of it that are repeated. */
const longestReason = 200;
/** Loki that says "tomorrow" is asked earlier. */
const longestRetryAfterMs = 60_000;

/** What became of a request. */
export type PushResult =
  | { readonly outcome: 'accepted' }
  /** Sent again, it would be refused again. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** `afterMs` is what Loki asked for; `faulty` when the lines themselves may be why. */
  | {
      readonly outcome: 'later';
      readonly reason: string;
      readonly afterMs: number | undefined;
      readonly faulty: boolean;
    };

/** A body as it is sent. */
export type PushBody = string | Uint8Array<ArrayBuffer>;

export interface LokiClientOptions {
  readonly address: LokiAddress;
  readonly gzip: boolean;
  readonly timeoutMs: number;
}

/** Posts bodies to Loki, one at a time. It follows no redirect, and reads no more of an answer than it needs. */
export class LokiClient {
  readonly #options: LokiClientOptions;
  #current: AbortController | undefined;
  #aborted = false;

  constructor(options: LokiClientOptions) {
    this.#options = options;
  }

  async encode(body: string): Promise<PushBody> {
    return this.#options.gzip ? new Uint8Array(await compress(body)) : body;
  }

  /** Never rejects. */
  async push(body: PushBody): Promise<PushResult> {
    if (this.#aborted) return later('there was no time left');
    const { timeoutMs } = this.#options;
    const controller = new AbortController();
    this.#current = controller;
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    timer.unref();
    try {
      return await this.#exchange(body, controller.signal);
    } catch (error) {
      if (this.#aborted) return later('there was no time left');
      if (controller.signal.aborted) return later(`no answer within ${timeoutMs} ms`);
      return later(this.#masked(networkReason(error)));
    } finally {
      clearTimeout(timer);
      this.#current = undefined;
    }
  }

  /** Ends a request under way, and lets no further one begin. */
  abort(): void {
    this.#aborted = true;
    this.#current?.abort();
  }

  async #exchange(body: PushBody, signal: AbortSignal): Promise<PushResult> {
    const { address, gzip: isZipped } = this.#options;
    const response = await fetch(address.url, {
      method: 'POST',
      headers: {
        ...address.headers,
        'content-type': 'application/json',
        ...(isZipped && { 'content-encoding': 'gzip' }),
      },
      body,
      redirect: 'manual',
      signal,
    });
    const { status } = response;
    if (status >= 200 && status < 300) {
      await response.body?.cancel();
      return { outcome: 'accepted' };
    }
    const said = this.#masked(cleanText((await readSome(response)).trim(), longestReason));
    const reason = `${status}${said && `: ${said}`}${adviceFor(status)}`;
    if (status === 429 || status === 408 || status >= 500) {
      const asked = retryAfterMs(response.headers.get('retry-after') ?? undefined, { baseMs: 0 });
      const afterMs = asked === undefined ? undefined : Math.min(longestRetryAfterMs, asked);
      return { outcome: 'later', reason, afterMs, faulty: status >= 500 };
    }
    return { outcome: 'refused', reason };
  }

  #masked(text: string): string {
    return this.#options.address.secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
  }
}

function later(reason: string): PushResult {
  return { outcome: 'later', reason, afterMs: undefined, faulty: false };
}

/** The beginning of an answer, however long it is. */
async function readSome(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < mostAnswer) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    bytes += value.byteLength;
  }
  await reader.cancel();
  return Buffer.concat(chunks).subarray(0, mostAnswer).toString('utf8');
}

function adviceFor(status: number): string {
  if (status === 404 || status === 405) return ' (does the URL end in /loki/api/v1/push?)';
  if (status === 401 || status === 403) return ' (are the credentials right?)';
  if (status >= 300 && status < 400) return ' (redirects are not followed)';
  return '';
}

/** `fetch` says no more than that it failed; what happened is the cause. */
function networkReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const { code, message } = (typeof cause === 'object' && cause !== null ? cause : {}) as {
    readonly code?: string;
    readonly message?: string;
  };
  return cleanText(code ?? message ?? 'the request failed', longestReason);
}
