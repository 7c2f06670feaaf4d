import { test, type TestAPI } from 'vitest';
import type { MysqlFlavour } from './mysql-server.js';

/** On what the tests of the library's behaviour run: `TAREFA_TEST_DATABASE`, or PostgreSQL. */
export const runsOn = (process.env['TAREFA_TEST_DATABASE'] || 'postgres') as 'postgres' | MysqlFlavour;

/** On which of the two the tests run that are not for PostgreSQL. */
export const mysqlOfRun: MysqlFlavour = runsOn === 'mysql' ? 'mysql' : 'mariadb';

/** For what only PostgreSQL has or does. */
export const onPostgres = runsOn === 'postgres';

/** Declares a test of what only PostgreSQL has or does: elsewhere it is not there. */
export const testOnPostgres = (
  onPostgres ? test : Object.assign(() => undefined, { each: () => () => undefined })
) as TestAPI;

/**
 * `pollIntervalMs` for workers that hear of everything: 0, no polls. On MySQL and MariaDB no statement of a test's can tell them of
 * what it writes by hand, and a ring that comes while they fall asleep is lost.
 */
export const unlessTold = onPostgres ? 0 : 1_000;

/** A statement of a handler, with the placeholders of the run's database. */
export function ownSql(text: string): string {
  return onPostgres ? text : withMysqlPlaceholders(text);
}

/** Routes as the table of workers has them. */
export function routeList(...routes: readonly string[]): string {
  return onPostgres ? `{${routes.join(',')}}` : JSON.stringify(routes);
}

/** Placeholders of a statement that a handler sends itself; each is named once, in the order of its values. */
export function withMysqlPlaceholders(text: string): string {
  return text
    .replace(/\$\d+/g, '?')
    .replace(/\bpg_sleep\(/g, 'sleep(')
    .replace(/\bpg_backend_pid\(\)/g, 'connection_id()');
}
