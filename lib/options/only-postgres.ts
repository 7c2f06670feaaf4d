import type { OptionCheck } from './option-check.js';
import { isSingleStore, type QueueConnection } from './queue-connection.js';
import type { QueueOptions } from './queue-options.js';
import { isClientServerMode } from './environment.js';
import type { Environment } from './variables.js';

/** Refuses what only a queue in PostgreSQL can have. */
export function refuseOnlyPostgres(
  connection: QueueConnection,
  { layout, interop, sessionConnection }: QueueOptions,
  env: Environment,
  check: OptionCheck,
): void {
  if (connection.driver === 'postgres') return;
  if (sessionConnection !== undefined) {
    check.mistake('sessionConnection is for PostgreSQL behind a pooler: leave it out on MySQL and MariaDB');
  }
  if (layout !== undefined && layout !== 'plain') {
    check.mistake('layout: only PostgreSQL tables can be partitioned: leave it out');
  }
  if (interop === undefined || interop === false) return;
  if (isSingleStore(connection)) {
    check.mistake(
      'interop: workers of nsj-queue-lib cannot run alongside this library on SingleStore: leave it out',
    );
  } else if (!isClientServerMode(env)) {
    check.mistake(
      'interop: nsj-queue-lib can take its locks in the database only on PostgreSQL: leave it out on MySQL and MariaDB, or set ' +
        'CLIENT_SERVER_MODE=TRUE if its workers take locks in their server',
    );
  }
}
