import { TarefaError } from '../errors.js';

/** The parts of `undici` that are used. */
export type Undici = typeof import('undici');

/**
 * Loads the optional package `undici`, which only those need who send webhooks.
 *
 * @throws {TarefaError} `WEBHOOK_PACKAGE_MISSING`
 */
export async function loadUndici(
  load: () => Promise<Undici> = async () => await import('undici'),
): Promise<Undici> {
  try {
    return await load();
  } catch (cause) {
    throw new TarefaError(
      'WEBHOOK_PACKAGE_MISSING',
      'Webhooks are sent with the package "undici", which cannot be loaded. Run `npm install undici`.',
      { cause },
    );
  }
}
