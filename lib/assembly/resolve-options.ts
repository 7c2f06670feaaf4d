import type { QueueOptions } from '../options/queue-options.js';
import { resolveOptions as resolve, type ResolvedOptions } from '../options/resolve-options.js';
import type { Environment } from '../options/variables.js';
import { connectionProblem as mysqlProblem } from '../storage/mysql/connections/mysql-config.js';
import { connectionProblem as postgresProblem } from '../storage/postgres/connections/connection-config.js';

/**
 * Checks options once and completes them, with variables of the environment.
 *
 * @throws {TarefaError} `OPTIONS_INVALID`, with all mistakes at once
 */
export function resolveOptions(given: QueueOptions, env: Environment = process.env): ResolvedOptions {
  return resolve(given, env, ({ driver, address }) =>
    driver === 'postgres' ? postgresProblem(address) : mysqlProblem(address),
  );
}
