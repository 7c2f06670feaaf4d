import { createCipheriv, createDecipheriv, createHash, webcrypto } from 'node:crypto';
import { TarefaError } from '../errors.js';

const algorithm = 'aes-256-gcm';
const prefix = 'enc1:';

/**
 * Encrypts signing secrets for the table. Bound to their subscription: the text of one cannot be put into another's row.
 * Without keys they stay as they are.
 */
export class SecretBox {
  readonly #keys = new Map<string, Buffer>();
  readonly #first: string | undefined;

  /** @param keys base64 of 32 bytes each; the first encrypts, all decrypt */
  constructor(keys: readonly string[]) {
    const read = keys.map((key) => Buffer.from(key, 'base64'));
    for (const key of read) this.#keys.set(idOf(key), key);
    this.#first = read[0] && idOf(read[0]);
  }

  close(secret: string, subscriptionId: string): string {
    const key = this.#first === undefined ? undefined : this.#keys.get(this.#first);
    if (!key) return secret;
    const nonce = webcrypto.getRandomValues(new Uint8Array(12));
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(subscriptionId));
    const parts = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${prefix}${this.#first}:${Buffer.concat(parts).toString('base64')}`;
  }

  /** @throws {TarefaError} `WEBHOOK_SECRET_INVALID`, without the secret */
  open(stored: string, subscriptionId: string): string {
    if (!stored.startsWith(prefix)) return stored;
    const [id = '', text = ''] = stored.slice(prefix.length).split(':');
    const key = this.#keys.get(id);
    if (!key)
      throw unreadable(subscriptionId, `it was encrypted with a key (${id}) that webhooks.secretKeys lacks`);
    const bytes = Buffer.from(text, 'base64');
    try {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, 12))
        .setAAD(Buffer.from(subscriptionId))
        .setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
    } catch {
      throw unreadable(subscriptionId, 'its text was changed, or belongs to another subscription');
    }
  }
}

/** Names a key without telling it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function unreadable(subscriptionId: string, why: string): TarefaError {
  return new TarefaError(
    'WEBHOOK_SECRET_INVALID',
    `a signing secret of subscription ${JSON.stringify(subscriptionId)} cannot be read: ${why}`,
  );
}
