import type { OptionCheck } from './option-check.js';
import type { QueueConnection } from './queue-connection.js';
import type { QueueOptions } from './queue-options.js';

/** Refuses what only a queue in PostgreSQL can have. */
export function refuseOnlyPostgres(
  { driver }: QueueConnection,
  { layout, interop, sessionConnection }: QueueOptions,
  check: OptionCheck,
): void {
  if (driver === 'postgres') return;
  if (sessionConnection !== undefined) {
    check.mistake('sessionConnection is for PostgreSQL behind a pooler: leave it out on MySQL and MariaDB');
  }
  if (layout !== undefined && layout !== 'plain') {
    check.mistake('layout: only tables in PostgreSQL are divided into partitions: leave it out');
  }
  if (interop !== undefined && interop !== false) {
    check.mistake(
      'interop: the locks that nsj-queue-lib takes in the database are those of PostgreSQL: leave it out on MySQL and MariaDB',
    );
  }
}
