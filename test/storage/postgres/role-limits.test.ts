import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { assembleCore } from '../../../lib/assembly/core.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../../lib/events.js';
import { SchemaSession } from '../../../lib/storage/postgres/migration/schema-session.js';
import { useDatabase } from '../../support/database.js';

const server = await useDatabase();

/** The address of a session that begins with limits of 50 ms, as those of a role. */
function addressWith(...limits: readonly string[]): string {
  const address = new URL(server.url);
  address.searchParams.set('options', limits.map((name) => `-c ${name}=50`).join(' '));
  return address.href;
}

test('a routine runs alone for longer than a role lets a transaction be idle', async () => {
  const connection = addressWith('idle_in_transaction_session_timeout');
  const core = await assembleCore(resolveOptions({ connection, queue: 'tasks' }, {}), new QueueEvents());
  try {
    const { workers } = core.database;
    const answer = await workers.runAlone('purge', async () => {
      await server.pool.query('select pg_sleep(0.3)');
      return [await workers.runAlone('purge', async () => 'beside it')];
    });
    expect(answer).toEqual([undefined]);
  } finally {
    await core.close();
  }
});

test('a migration builds for longer than a role lets a statement or a transaction take', async () => {
  const { rows } = await server.pool.query(
    `select name from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`,
  );
  const pool = new Pool({ connectionString: addressWith(...rows.map(({ name }) => String(name))), max: 1 });
  try {
    const session = await SchemaSession.open(pool);
    await session.query('begin');
    await session.query('select pg_sleep(0.3)');
    await expect(session.query('commit')).resolves.toBeDefined();
    await session.close();
  } finally {
    await pool.end();
  }
});
