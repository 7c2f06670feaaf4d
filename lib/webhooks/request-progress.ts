import { WebhookFailure } from './webhook-failure.js';

/** What a request is waiting for. */
export type Phase = 'name' | 'connect' | 'tls' | 'answer' | 'body';

const waitedFor: Readonly<Record<Phase, string>> = {
  name: 'its address was still being looked up',
  connect: 'no connection had been established',
  tls: 'TLS was still being negotiated',
  answer: 'it had sent no response',
  body: 'its response had started but was not complete',
};

/** How far one request has come, from its name to the end of its answer with redirects, under one deadline. */
export class RequestProgress {
  /** Aborts at the deadline, and when the caller gives up; its reason is a {@link WebhookFailure}. */
  readonly signal: AbortSignal;
  phase: Phase = 'name';
  host = '';
  readonly #startedAt = performance.now();
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;

  constructor(timeoutMs: number, outer: AbortSignal | undefined) {
    this.signal = this.#controller.signal;
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#timeOut(timeoutMs), timeoutMs);
    if (outer?.aborted) this.abort();
    else outer?.addEventListener('abort', this.abort);
  }

  get durationMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Ends the request early. */
  readonly abort = (): void => {
    const host = this.host || undefined;
    this.#controller.abort(
      new WebhookFailure('aborted', 'the request was aborted before it finished', { host }),
    );
  };

  /** Forgets the deadline; to be called when the request has ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.abort);
  }

  #timeOut(timeoutMs: number): void {
    const { host } = this;
    const message = `${host} did not respond within ${timeoutMs} ms: ${waitedFor[this.phase]}`;
    this.#controller.abort(new WebhookFailure('timeout', message, { host }));
  }
}
