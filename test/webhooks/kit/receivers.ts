import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebhookClient, type WebhookClientOptions } from '../../../lib/webhooks/webhook-client.js';
import { WebhookFailure } from '../../../lib/webhooks/webhook-failure.js';
import type { WebhookRequest } from '../../../lib/webhooks/webhook-request.js';

/** A request as a receiver got it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A server on loopback that lives as long as the test. */
export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly requests: Received[];
  /** Connections that were accepted. */
  readonly sockets: readonly Socket[];
}

/** A receiver that answers by HTTP. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => void = (_request, response) => response.end('ok'),
): Promise<Receiver> {
  const requests: Received[] = [];
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks),
      };
      requests.push(received);
      answer(received, response);
    });
  });
  return { ...(await serve(server)), requests };
}

/** A receiver that does with its connections what it likes. */
export async function startRawReceiver(
  onConnection: (socket: Socket) => void,
): Promise<Omit<Receiver, 'requests'>> {
  return await serve(createServer(onConnection));
}

/** Listens on loopback until the test ends; then every connection is cut. */
export async function serve(server: Server, host = '127.0.0.1'): Promise<Omit<Receiver, 'requests'>> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/hook`, sockets };
}

/** A client that may connect to 127.0.0.1, and is closed when the test ends. */
export function createClient(options: WebhookClientOptions = {}): WebhookClient {
  const client = new WebhookClient({ allowedAddresses: ['127.0.0.1'], timeoutMs: 10_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** A request with what a test does not care about. */
export function toSend(url: string, request: Partial<WebhookRequest> = {}): WebhookRequest {
  return { url, method: 'POST', body: '{}', id: 'msg_1', ...request };
}

/** The failure that sending ends with. */
export async function failureOf(sending: Promise<unknown>): Promise<WebhookFailure> {
  const error = await sending.then(
    (answer) => new Error(`answered: ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof WebhookFailure) return error;
  throw error;
}

/** Sends and tells the failure. */
export async function failing(
  client: WebhookClient,
  url: string,
  request?: Partial<WebhookRequest>,
): Promise<WebhookFailure> {
  return await failureOf(client.send(toSend(url, request)));
}
