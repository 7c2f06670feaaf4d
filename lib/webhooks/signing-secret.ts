import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPair as generateKeys,
  webcrypto,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { TarefaError } from '../errors.js';

/** A key that signs or verifies webhooks, read from its text. Printing it shows no key material. */
export type SigningKey =
  /** HMAC-SHA256: the same secret on both sides. */
  | { readonly version: 'v1'; readonly key: KeyObject }
  /** ed25519: only the sender has the private key. */
  | { readonly version: 'v1a'; readonly privateKey: KeyObject | undefined; readonly publicKey: KeyObject };

/** The two halves of an ed25519 key: the sender keeps `secret`, receivers are told `publicKey`. */
export interface SigningKeyPair {
  /** `whsk_…` */
  readonly secret: string;
  /** `whpk_…` */
  readonly publicKey: string;
}

// What DER puts before the 32 bytes of a raw ed25519 key (RFC 8410).
const privateKeyHeader = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicKeyHeader = Buffer.from('302a300506032b6570032100', 'hex');
const rawKeyBytes = 32;
const shortestSecret = 24;
const longestSecret = 64;

/** A new secret for HMAC-SHA256 as Standard Webhooks write it: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return `whsec_${Buffer.from(webcrypto.getRandomValues(new Uint8Array(32))).toString('base64')}`;
}

/** A new ed25519 key pair. Few receivers verify these: use it where they cannot be trusted with a shared secret. */
export async function generateKeyPair(): Promise<SigningKeyPair> {
  const { privateKey, publicKey } = await promisify(generateKeys)('ed25519');
  const seed = rawPart(privateKey.export({ format: 'der', type: 'pkcs8' }));
  const point = rawPart(publicKey.export({ format: 'der', type: 'spki' }));
  return {
    secret: `whsk_${Buffer.concat([seed, point]).toString('base64')}`,
    publicKey: `whpk_${point.toString('base64')}`,
  };
}

/**
 * Reads a signing secret: `whsec_` and base64 of 24 to 64 bytes, `whsk_` (ed25519, signs and verifies) or `whpk_`
 * (ed25519, verifies only).
 *
 * @throws {TarefaError} `WEBHOOK_SECRET_INVALID`; the message never shows the secret
 */
export function readSecret(text: string): SigningKey {
  const [prefix] = /^wh(?:sec|sk|pk)_/.exec(text) ?? [];
  if (prefix === 'whsec_') return readSharedSecret(readBase64(text, prefix));
  if (prefix === 'whsk_') return readPrivateKey(readBase64(text, prefix));
  if (prefix === 'whpk_') return readPublicKey(readBase64(text, prefix));
  throw invalid('it must begin with `whsec_`, `whsk_` or `whpk_`');
}

function readSharedSecret(bytes: Buffer): SigningKey {
  if (bytes.length < shortestSecret || bytes.length > longestSecret) {
    throw invalid(`\`whsec_\` is followed by ${bytes.length} bytes instead of 24 to 64`);
  }
  return { version: 'v1', key: createSecretKey(bytes) };
}

/** The seed alone, or followed by the public key, as both are found in the wild. */
function readPrivateKey(bytes: Buffer): SigningKey {
  if (bytes.length !== rawKeyBytes && bytes.length !== 2 * rawKeyBytes) {
    throw invalid(`\`whsk_\` is followed by ${bytes.length} bytes instead of 32 or 64`);
  }
  const seed = bytes.subarray(0, rawKeyBytes);
  const privateKey = createPrivateKey({
    key: Buffer.concat([privateKeyHeader, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = createPublicKey(privateKey);
  const point = bytes.subarray(rawKeyBytes);
  if (point.length > 0 && !point.equals(rawPart(publicKey.export({ format: 'der', type: 'spki' })))) {
    throw invalid('the public half of `whsk_` does not match its private half');
  }
  return { version: 'v1a', privateKey, publicKey };
}

function readPublicKey(bytes: Buffer): SigningKey {
  if (bytes.length !== rawKeyBytes) {
    throw invalid(`\`whpk_\` is followed by ${bytes.length} bytes instead of 32`);
  }
  const key = Buffer.concat([publicKeyHeader, bytes]);
  return {
    version: 'v1a',
    privateKey: undefined,
    publicKey: createPublicKey({ key, format: 'der', type: 'spki' }),
  };
}

/** Node reads base64 generously; a mistyped secret is to be told, not to become another key. */
function readBase64(text: string, prefix: string): Buffer {
  const encoded = text.slice(prefix.length).replace(/={1,2}$/, '');
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64').replace(/={1,2}$/, '') !== encoded) {
    throw invalid(`what follows \`${prefix}\` is not base64`);
  }
  return bytes;
}

function rawPart(der: Buffer): Buffer {
  return der.subarray(-rawKeyBytes);
}

function invalid(reason: string): TarefaError {
  return new TarefaError(
    'WEBHOOK_SECRET_INVALID',
    `a webhook's signing secret cannot be read: ${reason}. Create one with \`generateSecret()\``,
  );
}
