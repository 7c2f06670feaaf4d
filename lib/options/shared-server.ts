import { isClientServerMode } from './environment.js';
import type { OptionCheck } from './option-check.js';
import { lockPort, messageTimeout, notifyPort, readAmount } from './variable-amount.js';
import type { Environment } from './variables.js';

/** Where the server is that workers of nsj-queue-lib lock in, read from their variables. */
export interface ResolvedSharedServer {
  readonly host: string;
  readonly notifyPort: number;
  readonly lockPort: number;
  readonly messageTimeoutMs: number;
}

/** Undefined where they lock in the database. */
export function resolveSharedServer(
  interop: 'nsj' | undefined,
  env: Environment,
  check: OptionCheck,
): ResolvedSharedServer | undefined {
  if (interop === undefined || !isClientServerMode(env)) return undefined;
  return Object.freeze({
    host: env['SERVER_HOST']?.trim() || '127.0.0.1',
    notifyPort: readAmount('interop', undefined, { ...notifyPort, least: 1 }, env, check),
    lockPort: readAmount('interop', undefined, { ...lockPort, least: 1 }, env, check),
    messageTimeoutMs: readAmount('interop', undefined, messageTimeout, env, check),
  });
}
