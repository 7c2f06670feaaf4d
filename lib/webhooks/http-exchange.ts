import { request as openRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
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

/** Answers such as 100 and 103 that may come before the answer. */
const mostInformational = 8;
/** Bytes of an answer's header fields. */
const mostHeaderBytes = 16_384;

/**
 * Writes one request on a connection and reads its answer within limits. Who watches the deadline of `progress` closes the
 * connection, too.
 *
 * @throws {WebhookFailure}
 */
export function exchange(
  agent: Agent,
  message: HttpRequest,
  progress: RequestProgress,
  limits: AnswerLimits,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = progress;
    const fail = (error: Error): void => reject(failureOf(error, progress));
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    let informational = 0;
    let request: ClientRequest;
    try {
      request = open(agent, message);
    } catch (error) {
      // Node refuses what should have been refused before; its message may hold a header.
      const { host } = progress;
      const systemCode = systemCodeOf(error);
      reject(new WebhookFailure('refused-request', 'this request cannot be sent', { host, systemCode }));
      return;
    }
    request.on('error', fail);
    request.on('socket', () => {
      progress.phase = 'answer';
    });
    request.on('information', () => {
      informational += 1;
      if (informational > mostInformational)
        request.destroy(
          protocolFailure(
            progress.host,
            `sent more than ${mostInformational} interim responses (1xx) and no final one`,
          ),
        );
    });
    // Nobody asked for another protocol.
    request.on('upgrade', (_answer, socket) => {
      socket.destroy();
      fail(protocolFailure(progress.host, 'switched to another protocol without being asked'));
    });
    request.on('response', (response) => {
      progress.phase = 'body';
      response.on('error', fail);
      readAnswer(request, response, limits, resolve);
    });
    request.end(message.body ?? undefined);
  });
}

/** The socket is encrypted already where the URL says https. */
function open(agent: Agent, { url, method, headers, body }: HttpRequest): ClientRequest {
  return openRequest({
    agent,
    // For who watches; the connection is there.
    host: url.hostname,
    port: url.port,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { host: url.host, ...headers, ...(body && { 'content-length': body.length }) },
    maxHeaderSize: mostHeaderBytes,
  });
}

function readAnswer(
  request: ClientRequest,
  response: IncomingMessage,
  { keptBytes, readBytes }: AnswerLimits,
  resolve: (answer: HttpAnswer) => void,
): void {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = (cut: boolean): void => {
    resolve({ status, headers, body: Buffer.concat(chunks).subarray(0, keptBytes), bytes, cut });
  };
  response.on('data', (chunk: Buffer) => {
    if (bytes < keptBytes) chunks.push(chunk);
    bytes += chunk.length;
    if (bytes <= readBytes) return;
    end(true);
    response.destroy();
  });
  // Who answers before the request is written may never read it.
  response.on('end', () => end(!request.writableFinished));
}

function failureOf(error: Error, { host, phase }: RequestProgress): WebhookFailure {
  if (error instanceof WebhookFailure) return error;
  const systemCode = systemCodeOf(error);
  const [kind, happened] = describeFailure(systemCode, phase === 'body');
  return new WebhookFailure(kind, `${host} ${happened}`, { host, systemCode });
}

function describeFailure(
  code: string | undefined,
  began: boolean,
): readonly [kind: WebhookFailureKind, happened: string] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return ['too-large-headers', 'sent more than 16 KiB of header fields'];
  }
  // One of the parser's errors is that the answer ended too early.
  if (code?.startsWith('HPE_') === true && code !== 'HPE_INVALID_EOF_STATE') {
    return ['protocol', 'sent a response that is not HTTP/1.1'];
  }
  if (began) return ['reset', 'closed the connection before its response was complete'];
  return ['reset', 'closed the connection without a response'];
}

function protocolFailure(host: string, what: string): WebhookFailure {
  return new WebhookFailure('protocol', `${host} ${what}`, { host });
}
