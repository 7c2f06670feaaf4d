import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { until } from '../../support/waiting.js';
import { debianFile } from './debian-tool.js';
import { findFreePort } from './free-port.js';

/** A pooler between workers and a database. */
export interface PgBouncer {
  /** Address of the database through it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** What a pooler shows its clients, and whose certificates it wants to see of them: PEM. */
export interface BouncerTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * Starts Debian's PgBouncer in front of a database.
 *
 * @param tls lets in only who has a certificate; this one is tried first
 */
export async function startPgBouncer(
  database: { readonly url: string },
  poolMode: 'transaction' | 'session',
  tls?: BouncerTls,
): Promise<PgBouncer> {
  const { path, env } = await debianFile('usr/sbin/pgbouncer', ['pgbouncer', 'libc-ares2', 'libevent-2.1-7']);
  const target = new URL(database.url);
  const port = await findFreePort();
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-pgbouncer-'));
  await chmod(folder, 0o755);
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(
    config,
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username} password='${decodeURIComponent(target.password)}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 20
server_reset_query_always = 0
ignore_startup_parameters = extra_float_digits
${tls === undefined ? '' : await tlsSettings(folder, tls)}`,
  );
  await chmod(config, 0o644);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(path, [...user, '-q', config], { env: { ...process.env, ...env }, stdio: 'pipe' });
  const exit = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => (output += text.toString()));
  const url = new URL(database.url);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  // It would count more than a configuration beside it.
  if (tls) url.searchParams.delete('sslmode');
  await until(
    async () => child.exitCode === null && (await answers(url.href, tls)),
    `pgbouncer answers: ${output}`,
  );
  return {
    url: url.href,
    stop: async () => {
      child.kill('SIGKILL');
      await exit;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function tlsSettings(folder: string, tls: BouncerTls): Promise<string> {
  for (const [name, text] of Object.entries(tls)) await writeFile(join(folder, `${name}.pem`), text);
  return `client_tls_sslmode = verify-ca
client_tls_ca_file = ${join(folder, 'ca.pem')}
client_tls_cert_file = ${join(folder, 'cert.pem')}
client_tls_key_file = ${join(folder, 'key.pem')}
`;
}

async function answers(connectionString: string, tls: BouncerTls | undefined): Promise<boolean> {
  const client = new Client({ connectionString, ...(tls && { ssl: { ...tls } }) });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
