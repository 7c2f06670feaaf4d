import { TarefaError } from '../errors.js';
import { AddressPolicy } from './address-policy.js';
import { ConnectionPool } from './connection-pool.js';
import { RequestProgress } from './request-progress.js';
import { exchange } from './http-exchange.js';
import type { HttpAnswer, HttpRequest } from './http-message.js';
import { NameResolver } from './name-resolver.js';
import { nextHop } from './redirects.js';
import { readAnswer, type WebhookAnswer } from './webhook-answer.js';
import { WebhookConnector } from './webhook-connector.js';
import { WebhookFailure } from './webhook-failure.js';
import { httpRequest, type WebhookRequest } from './webhook-request.js';
import { hostOf, readWebhookUrl } from './webhook-url.js';

/** How webhooks are sent. */
export interface WebhookClientOptions {
  /** Ms for all of a request: name, connection, TLS, redirects, answer. Default 20 s. */
  readonly timeoutMs?: number | undefined;
  /**
   * What a redirect means. `refuse` (the default): a failure, and only 2xx is a success. `follow`: up to five are
   * followed, every one under the same rules and the same deadline, and 3xx counts as success, too.
   */
  readonly redirects?: 'refuse' | 'follow' | undefined;
  /** Addresses to allow besides the public internet: CIDR ranges, addresses, host names. Default: none. */
  readonly allowedAddresses?: readonly string[] | undefined;
  /** Name servers, `address` or `address:port`. Default: the computer's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Certificates (PEM) of authorities to trust instead of Node's. Default: Node's. */
  readonly ca?: readonly string[] | undefined;
  /** Bytes that are kept of an answer. Default 8 KiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** Connections that are kept open for the next request. Default 100. */
  readonly maxIdleConnections?: number | undefined;
}

/** Bytes of an answer that are read, so that its connection can be used again, though fewer are kept. */
const readBytes = 65_536;
const mostRedirects = 5;

/**
 * Sends webhooks: one signed HTTP request per call, to addresses that users chose.
 *
 * @example
 * const client = new WebhookClient({ timeoutMs: 20_000 });
 * const answer = await client.send({ url, method: 'POST', body: '{"total":12}', id: 'msg_1', secrets: [secret] });
 */
export class WebhookClient {
  /** Which addresses it connects to; for `readWebhookUrl` when a subscription is saved. */
  readonly policy: AddressPolicy;
  readonly #timeoutMs: number;
  readonly #follow: boolean;
  readonly #keptBytes: number;
  readonly #connector: WebhookConnector;
  readonly #running = new Set<RequestProgress>();
  readonly #pool: ConnectionPool;
  #closed = false;

  /** @throws {TarefaError} `OPTIONS_INVALID` */
  constructor(options: WebhookClientOptions = {}) {
    this.#timeoutMs = readCount('timeoutMs', options.timeoutMs ?? 20_000, 1);
    this.#keptBytes = readCount('maxAnswerBytes', options.maxAnswerBytes ?? 8_192, 0);
    this.#pool = new ConnectionPool(readCount('maxIdleConnections', options.maxIdleConnections ?? 100, 0));
    this.#follow = options.redirects === 'follow';
    this.policy = new AddressPolicy(options.allowedAddresses);
    this.#connector = new WebhookConnector(this.policy, new NameResolver(options), options.ca);
  }

  /**
   * Sends one request and reads its answer, whatever its status.
   *
   * @param signal gives the request up
   * @throws {WebhookFailure} when there is no answer
   * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`
   */
  async send(request: WebhookRequest, signal?: AbortSignal): Promise<WebhookAnswer> {
    const progress = new RequestProgress(this.#timeoutMs, signal);
    this.#running.add(progress);
    if (this.#closed) progress.abort();
    try {
      const first = httpRequest(request, readWebhookUrl(request.url, this.policy));
      const { hop, answer } = await this.#travel(first, progress);
      return readAnswer(answer, hop.url, this.#follow, progress.durationMs);
    } catch (error) {
      if (error instanceof WebhookFailure) error.durationMs = progress.durationMs;
      throw error;
    } finally {
      progress.end();
      this.#running.delete(progress);
    }
  }

  /** Gives up what is running, closes all connections and waits until they are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const progress of this.#running) progress.abort();
    await this.#pool.close();
  }

  /** From hop to hop until there is no redirect to follow. */
  async #travel(first: HttpRequest, progress: RequestProgress): Promise<Arrival> {
    let hop = first;
    for (let redirects = 0; ; redirects += 1) {
      progress.host = hostOf(hop.url);
      const answer = await this.#exchange(hop, progress);
      const next = this.#follow ? nextHop(hop, answer, this.policy) : undefined;
      if (!next) return { hop, answer };
      if (redirects === mostRedirects) {
        const message = `${progress.host} redirected again after ${mostRedirects} redirects`;
        throw new WebhookFailure('too-many-redirects', message, { host: progress.host });
      }
      hop = next;
    }
  }

  async #exchange(hop: HttpRequest, progress: RequestProgress): Promise<HttpAnswer> {
    const { signal } = progress;
    const pool = this.#pool;
    signal.throwIfAborted();
    const connection = pool.take(hop.url.origin, () => this.#connector.connect(hop.url, progress));
    const giveUp = (): void => pool.discard(connection);
    signal.addEventListener('abort', giveUp);
    try {
      const limits = { keptBytes: this.#keptBytes, readBytes: Math.max(readBytes, this.#keptBytes) };
      const answer = await exchange(connection.agent, hop, progress, limits);
      if (answer.cut) pool.discard(connection);
      else pool.giveBack(connection);
      return answer;
    } catch (error) {
      pool.discard(connection);
      // Closing a connection may show in other errors first.
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }
}

interface Arrival {
  readonly hop: HttpRequest;
  readonly answer: HttpAnswer;
}

function readCount(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= 2 ** 31 - 1) return value;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `webhooks: ${name} must be a whole number of at least ${least}, not ${value}`,
  );
}
