import { TarefaError } from '../../../errors.js';

/** The parts of `mysql2` that are used. */
export type Mysql2 = typeof import('mysql2');

/**
 * Loads the optional package `mysql2`, which only queues in MySQL and MariaDB need.
 *
 * @throws {TarefaError} `OPTIONS_INVALID`
 */
export async function loadMysql2(): Promise<Mysql2> {
  try {
    // Inside of a try bundlers, too, know that it may be missing.
    return (await import('mysql2')).default;
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'a queue in MySQL or MariaDB needs the package "mysql2", which cannot be loaded. Run `npm install mysql2`.',
      { cause },
    );
  }
}
