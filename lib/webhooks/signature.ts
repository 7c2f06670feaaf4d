import { createHmac, sign as signBytes, timingSafeEqual, verify as verifyBytes } from 'node:crypto';
import { TarefaError } from '../errors.js';
import { readSecret, type SigningKey } from './signing-secret.js';

/** What a signature covers besides the secret. */
export interface SignedMessage {
  /** Same over all attempts of a delivery; has no `.`. */
  readonly id: string;
  /** Seconds since 1970, of the attempt. */
  readonly timestamp: number;
  /** The exact bytes that are sent; a string counts as UTF-8. */
  readonly body: string | Uint8Array;
}

/** What was wrong with a signature. */
export type SignatureProblem =
  | 'headers-missing'
  /** With a dot the same signature would fit another message. */
  | 'id-invalid'
  | 'timestamp-invalid'
  | 'timestamp-too-old'
  | 'timestamp-too-new'
  /** No signature of a version that the secrets can verify. */
  | 'signature-unknown'
  /** Made with another secret, or the message was changed. */
  | 'signature-wrong';

/** Thrown for a message that is not to be trusted. */
export class WebhookSignatureError extends TarefaError {
  override readonly name = 'WebhookSignatureError';

  constructor(
    readonly problem: SignatureProblem,
    message: string,
  ) {
    super('WEBHOOK_SIGNATURE_INVALID', message);
  }
}

/** Header fields as Node, Nest or `fetch` give them. */
export type HeaderFields =
  Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

/** How a signature is verified. */
export interface VerifyOptions {
  /** Largest distance between the timestamp and the clock. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: number | undefined;
}

/** More are ignored: verifying costs time, and the sender is not known yet. */
const mostSignatures = 32;
const idShape = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;

/**
 * Signs a message for the header `webhook-signature`: one signature per secret, so that a receiver verifies with
 * the old secret or the new one while they rotate.
 *
 * @param secrets `whsec_…` or `whsk_…`, at least one
 * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`, `INPUT_INVALID`
 */
export function sign(secrets: readonly string[], message: SignedMessage): string {
  if (secrets.length === 0) throw noSecrets();
  if (!idShape.test(message.id)) {
    throw new TarefaError(
      'INPUT_INVALID',
      'a webhook id must have 1 to 256 printable characters, without dots or spaces',
    );
  }
  if (!Number.isSafeInteger(message.timestamp) || message.timestamp < 0) {
    throw new TarefaError('INPUT_INVALID', `timestamp must be whole seconds, not ${message.timestamp}`);
  }
  const content = signedContent(message.id, String(message.timestamp), message.body);
  return secrets.map((secret) => signOne(readSecret(secret), content)).join(' ');
}

/** A message that was verified. */
export interface VerifiedWebhook {
  readonly id: string;
  readonly timestamp: Date;
}

/**
 * Verifies a message of Standard Webhooks: one of its signatures has to be made with one of the secrets.
 *
 * @param rawBody the bytes as they came, not what was parsed from them
 * @throws {WebhookSignatureError} says what is wrong, never which secret was expected
 * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`
 */
export function verifySignature(
  secrets: readonly string[],
  headers: HeaderFields,
  rawBody: string | Uint8Array,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): VerifiedWebhook {
  if (secrets.length === 0) throw noSecrets();
  const keys = secrets.map(readSecret);
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature');
  if (!id || !timestamp || !signatures) {
    throw new WebhookSignatureError(
      'headers-missing',
      'one of the headers webhook-id, webhook-timestamp and webhook-signature is missing',
    );
  }
  if (id.includes('.')) throw new WebhookSignatureError('id-invalid', 'webhook-id must not contain a dot');
  const time = checkTime(timestamp, now, toleranceSeconds);
  checkSignatures(keys, signatures, signedContent(id, timestamp, rawBody));
  return { id, timestamp: new Date(time * 1_000) };
}

function checkTime(text: string, now: number, toleranceSeconds: number): number {
  if (!/^\d{1,12}$/.test(text)) {
    throw new WebhookSignatureError('timestamp-invalid', 'webhook-timestamp is not a number of seconds');
  }
  const time = Number(text);
  const ageSeconds = Math.floor(now / 1_000) - time;
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookSignatureError(
      'timestamp-too-old',
      `webhook-timestamp is ${ageSeconds} s old; at most ${toleranceSeconds} s are accepted`,
    );
  }
  if (-ageSeconds > toleranceSeconds) {
    throw new WebhookSignatureError(
      'timestamp-too-new',
      `webhook-timestamp is ${-ageSeconds} s ahead; at most ${toleranceSeconds} s are accepted`,
    );
  }
  return time;
}

function checkSignatures(keys: readonly SigningKey[], header: string, content: Buffer): void {
  const known = header
    .split(' ')
    .map(readSignature)
    .filter(({ version }) => keys.some((key) => key.version === version))
    .slice(0, mostSignatures);
  if (known.length === 0) {
    throw new WebhookSignatureError(
      'signature-unknown',
      'webhook-signature has no signature of a supported version',
    );
  }
  // Expected ones are made once per secret, however many are offered.
  const verifiers = keys.map((key) => ({ version: key.version, verify: verifier(key, content) }));
  const matches = known.some(({ version, bytes }) =>
    verifiers.some((one) => one.version === version && one.verify(bytes)),
  );
  if (!matches) {
    throw new WebhookSignatureError(
      'signature-wrong',
      'no signature matches: another secret was used, or the message was changed in transit',
    );
  }
}

function readSignature(text: string): { readonly version: string; readonly bytes: Buffer } {
  const comma = text.indexOf(',');
  if (comma === -1) return { version: '', bytes: Buffer.alloc(0) };
  return { version: text.slice(0, comma), bytes: Buffer.from(text.slice(comma + 1), 'base64') };
}

function verifier(key: SigningKey, content: Buffer): (signature: Buffer) => boolean {
  if (key.version === 'v1a') return (signature) => verifyBytes(null, content, key.publicKey, signature);
  const expected = createHmac('sha256', key.key).update(content).digest();
  return (signature) => signature.length === expected.length && timingSafeEqual(signature, expected);
}

function signOne(key: SigningKey, content: Buffer): string {
  if (key.version === 'v1') return `v1,${createHmac('sha256', key.key).update(content).digest('base64')}`;
  if (key.privateKey) return `v1a,${signBytes(null, content, key.privateKey).toString('base64')}`;
  throw new TarefaError(
    'WEBHOOK_SECRET_INVALID',
    'a public key (`whpk_`) can only verify: sign with its `whsk_`',
  );
}

function signedContent(id: string, timestamp: string, body: string | Uint8Array): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`), bytes]);
}

function readHeader(headers: HeaderFields, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const fields = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const value = fields[name] ?? Object.entries(fields).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : value?.join(' ');
}

function noSecrets(): TarefaError {
  return new TarefaError('WEBHOOK_SECRET_INVALID', 'no secret was given to sign or verify webhooks');
}
