import { execFile } from 'node:child_process';
import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { until } from '../../support/waiting.js';
import { startCluster, type Cluster, type ClusterOptions } from './cluster.js';

/** Starts a streaming standby of a cluster, which goes on meanwhile. Users and databases are its. */
export async function startStandby(primary: Cluster, options: ClusterOptions = {}): Promise<Cluster> {
  const standby = await startCluster(options);
  await standby.shutDown('fast');
  const { uid, gid } = await stat(primary.dataDirectory);
  const data = standby.dataDirectory;
  await rm(data, { recursive: true });
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(data, name), text);
    await chown(join(data, name), uid, gid);
  };
  await write('backup_label', await backUp(primary, data));
  await write('standby.signal', '');
  const { username, password } = new URL(primary.url);
  const follow = `host=127.0.0.1 port=${primary.port} user=${username} password=${password}`;
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${follow}'\n`);
  const address = new URL(primary.url);
  address.port = String(standby.port);
  standby.url = address.href;
  await standby.start();
  return standby;
}

/** Makes the standby the primary, once it has all that has been written so far. */
export async function promote(standby: Cluster, primary: Cluster): Promise<void> {
  const [written] = await primary.run('select pg_current_wal_lsn()::text as lsn');
  await until(
    async () =>
      (await standby.run('select pg_last_wal_replay_lsn() >= $1::pg_lsn as done', [written?.['lsn']]))[0]?.[
        'done'
      ],
    'the standby has everything',
  );
  await standby.run('select pg_promote()');
}

/** Copies a server's files while it runs; returns the label that tells whoever starts on them where to begin. */
async function backUp({ url, dataDirectory }: Cluster, to: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>(
      `select current_setting('server_version_num')::int as n`,
    );
    const isOld = (rows[0]?.n ?? 0) < 150_000;
    await client.query(
      isOld ? `select pg_start_backup('standby', true, false)` : `select pg_backup_start('standby', true)`,
    );
    await copyFolder(dataDirectory, to);
    const ended = await client.query<{ labelfile: string }>(
      `select labelfile from ${isOld ? 'pg_stop_backup(false, false)' : 'pg_backup_stop(false)'}`,
    );
    return ended.rows[0]?.labelfile ?? '';
  } finally {
    await client.end();
  }
}

/** The log is left out: it comes over the network, whole. */
async function copyFolder(from: string, to: string): Promise<void> {
  const { uid, gid } = await stat(from);
  await promisify(execFile)('cp', ['-a', from, to], { env: { ...process.env, LC_ALL: 'C' } }).catch(
    (error: { readonly stderr?: string }) => {
      const others = (error.stderr ?? '')
        .trim()
        .split('\n')
        .filter((line) => !line.endsWith('No such file or directory'));
      // Files come and go while the server works.
      if (error.stderr === undefined || others.length > 0) throw error;
    },
  );
  for (const name of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) {
    await rm(join(to, name), { recursive: true, force: true });
  }
  for (const name of ['pg_wal', 'pg_wal/archive_status']) {
    await mkdir(join(to, name), { mode: 0o700 });
    await chown(join(to, name), uid, gid);
  }
}
