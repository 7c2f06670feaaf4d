import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';

/** Of the oldest server that has all that the statements use, as `server_version_num` has it. */
const least = { number: 130_000, name: '13' };

/** @throws {TarefaError} `OPTIONS_INVALID` for an older one */
export async function refuseOldServer(handle: SqlHandle): Promise<void> {
  const { rows } = await handle.query(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version`,
  );
  if (Number(rows[0]?.['number']) >= least.number) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `the server is PostgreSQL ${String(rows[0]?.['version'])}; a queue needs PostgreSQL ${least.name} or newer.`,
  );
}
