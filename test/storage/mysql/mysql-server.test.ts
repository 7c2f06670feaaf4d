import { expect, test } from 'vitest';
import type { TextRow } from '../../../lib/storage/mysql/connections/answers.js';
import type { Run } from '../../../lib/storage/mysql/connections/transactions.js';
import { inspectServer } from '../../../lib/storage/mysql/schema/server.js';

// Servers that cannot be had here: their answers are faked, the reading is real.

interface Told {
  readonly version: string;
  readonly comment?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** `lower_case_table_names` */
  readonly folds?: string;
}

function answering({ version, comment = '', variables = {}, folds = '0' }: Told): Run {
  const facts = { version, comment, name: 'shop', packet: '1024', folds };
  const rows = Object.entries(variables).map(([name, value]) => ({ Variable_name: name, Value: value }));
  return async (text) => {
    const answer: readonly TextRow[] = text.startsWith('show') ? rows : [facts];
    return [{ rows: answer, changed: 0, insertId: '0' }];
  };
}

test.each<Told & { readonly said: string }>([
  { version: '8.0.11-TiDB-v8.5.6', said: 'TiDB (8.0.11-TiDB-v8.5.6), which ignores FOR UPDATE SKIP LOCKED' },
  { version: '8.0.30-Vitess', said: 'Vitess (8.0.30-Vitess)' },
  { version: '8.0.30', comment: 'PlanetScale', said: 'Vitess (8.0.30)' },
  { version: '5.7.32', comment: 'SingleStoreDB source distribution', said: 'SingleStore (5.7.32)' },
  { version: '8.0.21', said: 'MySQL 8.0.21; a queue needs MySQL 8.0.22 or newer' },
  { version: '5.7.44-log', said: 'MySQL 5.7.44-log; a queue needs MySQL 8.0.22' },
  { version: '10.7.8-MariaDB', said: 'MariaDB 10.7.8-MariaDB; a queue needs MariaDB 10.8.0 or newer' },
  { version: '5.5.5-10.6.2-MariaDB-log', said: 'a queue needs MariaDB 10.8.0' },
  {
    version: '8.4.0',
    variables: { log_bin: 'ON', binlog_format: 'STATEMENT' },
    said: 'binlog_format = STATEMENT',
  },
])('$version $comment is refused in one sentence', async ({ said, ...told }) => {
  await expect(inspectServer(answering(told))).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining(said),
  });
});

test.each<Told & { readonly flavour: string; readonly isGalera?: boolean; readonly foldsNames?: boolean }>([
  { version: '8.0.22', flavour: 'mysql' },
  { version: '9.7.4', flavour: 'mysql', variables: { log_bin: 'ON', binlog_format: 'ROW' } },
  // Without a log its format says nothing.
  { version: '8.4.0', flavour: 'mysql', variables: { log_bin: 'OFF', binlog_format: 'STATEMENT' } },
  { version: '10.8.1-MariaDB', flavour: 'mariadb' },
  { version: '5.5.5-10.11.2-MariaDB-log', flavour: 'mariadb' },
  { version: '11.8.6-MariaDB', flavour: 'mariadb', variables: { wsrep_on: 'ON' }, isGalera: true },
  { version: '8.4.0', flavour: 'mysql', folds: '1', foldsNames: true },
])('$version is taken', async ({ flavour, isGalera = false, foldsNames = false, ...told }) => {
  expect(await inspectServer(answering(told))).toEqual({
    flavour,
    isGalera,
    foldsNames,
    version: told.version,
    database: 'shop',
    maxPacketBytes: 1024,
  });
});

test('SingleStore is taken when it is asked for, with a clock in UTC', async () => {
  const telling = (minutes: string): Run => {
    const facts = { version: '5.7.32', name: 'shop', packet: '1024', minutes };
    return async () => [{ rows: [facts], changed: 0, insertId: '0' }];
  };
  expect(await inspectServer(telling('0'), 'singlestore')).toMatchObject({
    database: 'shop',
    maxPacketBytes: 1_024,
  });
  await expect(inspectServer(telling('-180'), 'singlestore')).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('is -180 minutes off UTC'),
  });
});
