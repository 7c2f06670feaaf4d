import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';

/** Of the oldest server that has all that the statements use, as `server_version_num` has it. */
const least = { number: 130_000, name: '13' };

/** @throws {TarefaError} `OPTIONS_INVALID` for an older one, or one that only speaks like PostgreSQL */
export async function refuseUnfitServer(handle: SqlHandle): Promise<void> {
  const { rows } = await handle.query(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version, version() as words`,
  );
  // It calls itself PostgreSQL 13, and each of its workers would look dead to the others.
  if (String(rows[0]?.['words']).includes('CockroachDB')) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'the server is CockroachDB, which ignores advisory locks, by which workers show that they live; a queue needs PostgreSQL itself.',
    );
  }
  if (Number(rows[0]?.['number']) >= least.number) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `the server is PostgreSQL ${String(rows[0]?.['version'])}; a queue needs PostgreSQL ${least.name} or newer.`,
  );
}
