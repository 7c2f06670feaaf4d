import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../cli/support.js';
import { mysqlStartMs } from '../support/mysql.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { startMysqlCluster, type MysqlCluster } from './kit/mysql-cluster.js';
import { OneOfEach, runOneOfEach } from './kit/one-of-each.js';

let server: MysqlCluster;
let root: Pool;

beforeAll(async () => {
  server = await startMysqlCluster('mariadb');
  root = createPool({ uri: server.url, multipleStatements: true });
  await root.query(`create database shop; create user application@'127.0.0.1';
    grant all privileges on shop.* to application@'127.0.0.1';
    grant select on mysql.innodb_index_stats to application@'127.0.0.1'`);
}, mysqlStartMs);

afterAll(async () => {
  await root.end();
  await server.stop();
});

/** How values are written and read, and in which language, each as far from what is usual as can be. */
const formats = {
  sql_mode: `'ORACLE,EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH'`,
  time_zone: `'+13:00'`,
  lc_time_names: `'pt_BR'`,
  lc_messages: `'pt_BR'`,
  character_set_server: 'latin1',
  collation_server: 'latin1_swedish_ci',
  character_set_client: 'latin1',
  character_set_connection: 'latin1',
  collation_connection: 'latin1_swedish_ci',
  character_set_results: 'latin1',
  autocommit: '0',
  completion_type: '1',
  tx_isolation: `'SERIALIZABLE'`,
  sql_safe_updates: '1',
  sql_select_limit: '1',
  max_join_size: '1',
  auto_increment_increment: '3',
  div_precision_increment: '0',
  group_concat_max_len: '4',
  explicit_defaults_for_timestamp: '0',
  old_mode: `'NO_PROGRESS_INFO,ZERO_DATE_TIME_CAST'`,
} as const;

/** Ends all sessions of the application; those that follow have what is set by now. */
async function cut(): Promise<void> {
  const [rows] = await root.query<RowDataPacket[]>(
    `select id from information_schema.processlist where user = 'application'`,
  );
  await Promise.all(rows.map(({ id }) => root.query(`kill ${id}`).catch(() => undefined)));
}

test('formats of times, numbers, texts and messages that are set for the server while a worker runs change nothing', async () => {
  const url = `mysql://application@127.0.0.1:${server.port}/shop`;
  const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };
  const options = { handlers: [OneOfEach], pollIntervalMs: 500, recovery };
  let app = await startApp({ url }, options);
  try {
    await runOneOfEach(app);
    await root.query(
      Object.entries(formats)
        .map(([name, value]) => `set global ${name} = ${value}`)
        .join('; '),
    );
    await runOneOfEach(app);
    await cut();
    await until(
      () => app.queue.insertTask({ topic: 'echo' }).catch(() => undefined),
      'it is connected again',
    );
    await runOneOfEach(app);
    const other = await startApp({ url }, options);
    await app.close();
    app = other;
    await runOneOfEach(app);
    const check = await runCli(['migrate', '--table', 'tasks', '--check', '--url', url]);
    expect(check).toMatchObject({ code: 0, stderr: '' });
  } finally {
    await app.close();
  }
}, 60_000);
