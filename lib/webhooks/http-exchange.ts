import type { IncomingHttpHeaders } from 'node:http';
import type { Client, Dispatcher } from 'undici';
import type { RequestProgress } from './request-progress.js';
import type { HttpAnswer, HttpRequest } from './http-message.js';
import { systemCodeOf, WebhookFailure, type WebhookFailureKind } from './webhook-failure.js';

/** How much of an answer is dealt with. */
export interface AnswerLimits {
  /** Bytes of the body that are kept. */
  readonly keptBytes: number;
  /** Bytes of the body that are read before the rest is refused. */
  readonly readBytes: number;
}

/** Answers such as 103 that may come before the answer. */
const mostInformational = 8;

/**
 * Writes one request on a connection and reads its answer within limits. The deadline of `progress` is not watched here:
 * who watches it closes the connection, and the request fails with that.
 *
 * @throws {WebhookFailure}
 */
export function exchange(
  client: Client,
  { url, method, headers, body }: HttpRequest,
  progress: RequestProgress,
  { keptBytes, readBytes }: AnswerLimits,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let informational = 0;
    let status = 0;
    let received: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let bytes = 0;
    const answer = (cut: boolean): HttpAnswer => ({
      status,
      headers: received,
      body: Buffer.concat(chunks).subarray(0, keptBytes),
      bytes,
      cut,
    });

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {
        progress.phase = 'answer';
      },
      onResponseStart(controller, statusCode, fields) {
        if (statusCode < 200) {
          informational += 1;
          if (informational > mostInformational) controller.abort(tooManyInformational(progress.host));
          return;
        }
        progress.phase = 'body';
        status = statusCode;
        received = fields;
      },
      onResponseData(controller, chunk) {
        if (bytes < keptBytes) chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= readBytes) return;
        resolve(answer(true));
        controller.abort(new Error('the rest of the answer is not read'));
      },
      onResponseEnd() {
        resolve(answer(false));
      },
      onResponseError(_controller, error) {
        reject(failureOf(error, progress));
      },
    };
    try {
      client.dispatch({ path: `${url.pathname}${url.search}`, method, headers, body }, handler);
    } catch (error) {
      // undici refuses what should have been refused before; its message may hold a header.
      reject(
        new WebhookFailure('refused-request', 'this request cannot be sent', {
          host: progress.host,
          systemCode: systemCodeOf(error),
        }),
      );
    }
  });
}

function failureOf(error: Error, { host, phase }: RequestProgress): WebhookFailure {
  if (error instanceof WebhookFailure) return error;
  const systemCode = systemCodeOf(error);
  const [kind, happened] = describeFailure(error, systemCode, phase === 'body');
  return new WebhookFailure(kind, `${host} ${happened}`, { host, systemCode });
}

function describeFailure(
  { name, message }: Error,
  code: string | undefined,
  began: boolean,
): readonly [kind: WebhookFailureKind, happened: string] {
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return ['too-large-headers', 'answered with more header fields than are read (16 KiB)'];
  }
  // The parser's errors have no code of their own. One of them is that the answer ended too early.
  const unreadable = name === 'HTTPParserError' && !message.includes('EOF');
  if (unreadable || (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !began)) {
    return ['protocol', 'answered with something that is not HTTP/1.1'];
  }
  if (began) return ['reset', 'closed the connection before its answer had ended'];
  return ['reset', 'closed the connection without an answer'];
}

function tooManyInformational(host: string): WebhookFailure {
  return new WebhookFailure(
    'protocol',
    `${host} sent only interim answers (1xx), more than ${mostInformational}`,
    {
      host,
    },
  );
}
