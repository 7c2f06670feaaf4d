import { messageOf, unavailable } from './tenant-error.js';

/** A request that is answered with JSON. */
export interface JsonRequest {
  /** Who is asked, for messages: `the token service`. */
  readonly who: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For all of it: name, connection, answer. */
  readonly timeoutMs: number;
}

/** What came back. */
export interface JsonAnswer {
  readonly status: number;
  /** The object that was answered; undefined unless the status says success. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** Answers are a few hundred bytes; a server that sends more is the wrong one. */
const longestAnswer = 64 * 1_024;

/**
 * Posts and reads the answer: bounded in time and size, without following redirects, which would carry secrets
 * elsewhere. Neither what is sent nor what is answered appears in an error, so that errors carry no cause either.
 *
 * @throws {TarefaError} `TENANT_UNAVAILABLE`
 */
export async function postForJson(request: JsonRequest): Promise<JsonAnswer> {
  const { url, headers, body, timeoutMs } = request;
  const whom = describe(request);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    const { status } = response;
    if (status < 200 || status > 299) {
      await response.body?.cancel();
      if (status >= 300 && status < 400) {
        throw unavailable(`${whom} answered ${status}: redirects are not followed`);
      }
      return { status, fields: undefined };
    }
    return { status, fields: readObject(await readText(response, whom), whom) };
  } catch (error) {
    if (signal.aborted) throw unavailable(`${whom} did not answer within ${timeoutMs} ms`);
    throw isOurs(error) ? error : unavailable(`${whom} is unreachable: ${reasonOf(error)}`);
  }
}

/** Who was asked and where, without what else the URL may hold. */
export function describe({ who, url }: Pick<JsonRequest, 'who' | 'url'>): string {
  const { origin, pathname } = new URL(url);
  return `${who} (${origin}${pathname})`;
}

async function readText(response: Response, whom: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop by an error cancels the rest of the answer.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > longestAnswer) throw unavailable(`${whom} answered with more than ${longestAnswer} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readObject(text: string, whom: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unavailable(`${whom} did not answer with JSON`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw unavailable(`${whom} answered with JSON that is not an object`);
}

function isOurs(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'TENANT_UNAVAILABLE';
}

/** `fetch` says what happened in the cause. Its code only: a parser's error holds what was answered. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : messageOf(error);
}
