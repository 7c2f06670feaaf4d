import { subscriptionNotFound } from '../admin/subscription-admin.js';
import { TarefaError, hasCode } from '../errors.js';
import { OptionCheck } from '../options/option-check.js';
import type { Environment } from '../options/variables.js';
import { resolveWebhooks } from '../options/webhook-options.js';
import type { EndpointStore } from '../storage/endpoints.js';
import { originOf } from '../values/origin.js';
import { rotationMs } from '../webhooks/endpoint-registry.js';
import { SecretBox } from '../webhooks/secret-box.js';
import { generateKeyPair, generateSecret } from '../webhooks/signing-secret.js';

/** Keys that signing secrets are encrypted with; undefined where there are none. Arguments of a process are seen by others. */
export function readSecretKeys(env: Environment): readonly string[] | undefined {
  const keys = env['WEBHOOK_SECRET_KEYS']?.split(',').map((key) => key.trim());
  return keys?.filter(Boolean);
}

/**
 * Creates a signing secret for a webhook and stores it as the application would, which has these keys.
 *
 * @returns the secret, or the public half of a pair
 * @throws {TarefaError} `SUBSCRIPTION_NOT_FOUND`; `WEBHOOK_SECRET_INVALID` when stored secrets are encrypted and the keys do not fit;
 * `INPUT_INVALID` for a subscription that is no webhook
 */
export async function createWebhookSecret(
  store: EndpointStore,
  id: string,
  { isPair, env }: { readonly isPair: boolean; readonly env: Environment },
): Promise<string> {
  const check = new OptionCheck([]);
  const keys = resolveWebhooks({ secretKeys: readSecretKeys(env) }, undefined, check)?.secretKeys ?? [];
  check.throwIfAny('WEBHOOK_SECRET_KEYS');
  const known = await store.list();
  if (!known) {
    throw new TarefaError(
      'INPUT_INVALID',
      'this queue has no table for secrets yet: the first process that delivers webhooks creates it, such as `tarefa worker --webhooks`',
    );
  }
  const endpoint = await store.find(id);
  if (!endpoint) throw subscriptionNotFound(id);
  if (endpoint.url === null) {
    throw new TarefaError(
      'INPUT_INVALID',
      `subscription ${JSON.stringify(id)} has no URL, so its deliveries are not signed`,
    );
  }
  const box = new SecretBox(keys);
  const signed = known.filter((one) => one.signed).map(({ subscriptionId }) => subscriptionId);
  await mustFit(store, box, signed);
  const { secret, publicKey } = isPair
    ? await generateKeyPair()
    : { secret: generateSecret(), publicKey: undefined };
  const stored = { secret: box.close(secret, id), origin: originOf(endpoint.url) };
  await store.addSecret(id, stored, rotationMs);
  return publicKey ?? secret;
}

/** What the application stores encrypted is not to stand beside a secret that anybody can read, or none of its workers can. */
async function mustFit(store: EndpointStore, box: SecretBox, signed: readonly string[]): Promise<void> {
  try {
    for (const id of signed) for (const { secret } of await store.secrets(id)) box.open(secret, id);
  } catch (error) {
    if (!hasCode(error, 'WEBHOOK_SECRET_INVALID')) throw error;
    throw new TarefaError(
      error.code,
      `${error.message}. Nothing was stored: set WEBHOOK_SECRET_KEYS to webhooks.secretKeys of the application`,
      { cause: error },
    );
  }
}
