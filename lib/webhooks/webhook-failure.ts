import { TarefaError } from '../errors.js';

/** Why a request brought no answer. */
export type WebhookFailureKind =
  /** The URL itself is not one that webhooks are sent to. Trying again is useless until it is changed. */
  | 'refused-url'
  /** The URL leads to an address that webhooks may not reach. */
  | 'refused-address'
  /** The method or a header of the subscription cannot be sent. */
  | 'refused-request'
  /** The name has no address, or name servers did not answer. */
  | 'dns'
  /** No address accepted a connection. */
  | 'connect'
  /** No TLS, or a certificate that is not trusted. */
  | 'tls'
  /** The deadline passed. */
  | 'timeout'
  /** The connection ended before the answer did. */
  | 'reset'
  | 'too-large-headers'
  | 'too-many-redirects'
  /** What came is not HTTP. */
  | 'protocol'
  /** The caller gave up, or the client was closed. */
  | 'aborted';

/** What is known about a failure besides its message. */
export interface WebhookFailureDetails {
  /** Host that the request went to; undefined when the URL names none. */
  readonly host?: string | undefined;
  /** The operating system's, TLS's or parser's code, such as `ECONNREFUSED`. */
  readonly systemCode?: string | undefined;
  /** The address that was refused. Not in the message, which tenants may read. */
  readonly address?: string | undefined;
}

/**
 * A request that brought no answer. Its message is made for people: it names the host and what happened, and holds
 * neither secrets nor what servers sent. For the same reason it has no `cause`: parsers keep the bytes they stumble
 * over, and a receiver may send back what it was sent.
 */
export class WebhookFailure extends TarefaError {
  override readonly name = 'WebhookFailure';
  readonly host: string | undefined;
  readonly systemCode: string | undefined;
  readonly address: string | undefined;
  /** From the call to the failure; set by `WebhookClient`. */
  durationMs: number | undefined;

  constructor(
    readonly kind: WebhookFailureKind,
    message: string,
    { host, systemCode, address }: WebhookFailureDetails = {},
  ) {
    super('WEBHOOK_FAILED', message);
    this.host = host;
    this.systemCode = systemCode;
    this.address = address;
  }
}

/** A code that is fit for a message: servers do not choose it, but better safe. */
export function systemCodeOf(error: unknown): string | undefined {
  const code: unknown = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : undefined;
}
