import { TarefaError } from '../../errors.js';

/**
 * Only plain values reach a thread.
 *
 * @throws {TarefaError} `OPTIONS_INVALID`, which names the option that is none
 */
export function refuseUnsendable(config: object): void {
  const found = findUnsendable(config, 'connection');
  if (!found) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `a thread renews the lease by which this worker lives (it is detached, or its connection goes through a pooler), but ` +
      `${found.path} cannot be passed to a thread (${String(found.cause)}): leave it out, or give it as plain values. ` +
      `A worker behind a pooler needs no lease with a sessionConnection that is a direct address`,
    { cause: found.cause },
  );
}

/** The deepest value that cannot be copied; undefined when all can be. */
function findUnsendable(value: unknown, path: string): { path: string; cause: unknown } | undefined {
  try {
    structuredClone(value);
    return undefined;
  } catch (cause) {
    const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    for (const [key, part] of parts) {
      const found = findUnsendable(part, `${path}.${key}`);
      if (found) return found;
    }
    return { path, cause };
  }
}
