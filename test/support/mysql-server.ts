import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { chooseServerUser, type ServerUser } from '../../lib/embedded/server-user.js';
import { waitUntil } from '../../lib/embedded/wait-until.js';
import { testMachine } from './machine.js';

/** The two servers that one set of statements is for. */
export type MysqlFlavour = 'mariadb' | 'mysql';

/** A server of its own. */
export interface MysqlServer {
  /** Address of the server, with all rights, without a database. */
  readonly url: string;
  readonly port: number;
  /** Its process; whoever kills it still calls {@link MysqlServer.stop}. */
  readonly pid: number;
  /** Ends it at once, and removes its data. */
  stop(): Promise<void>;
}

/** How a server is started. */
export interface MysqlSettings {
  /** True when what was committed has to survive a power failure. Default: false */
  readonly durable?: boolean;
  /** More options of the server, as `name=value`. */
  readonly more?: readonly string[];
}

const run = promisify(execFile);
const startLimitMs = 120_000;

/**
 * Starts a server on a free loopback port, with its data in a temporary folder. It ends with this process, however that ends.
 */
export async function startMysql(flavour: MysqlFlavour, settings: MysqlSettings = {}): Promise<MysqlServer> {
  const { program, user } = await findProgram(flavour);
  for (let attempt = 1; ; attempt += 1) {
    const folder = await mkdtemp(join(tmpdir(), `tarefa-${flavour}-test-${process.pid}-`));
    try {
      await makeData(flavour, program, folder, user);
      return await launch(program, folder, user, optionsOf(flavour, settings));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      // Another program may have taken the port in the meantime.
      if (attempt === 3 || !String(error).includes('in use')) throw error;
    }
  }
}

/** A server's program, and whom it runs as: undefined for this process's own user. */
export async function findProgram(
  flavour: MysqlFlavour,
): Promise<{ readonly program: string; readonly user: ServerUser | undefined }> {
  const { stdout } = await run(process.execPath, [installer(import.meta.dirname), flavour]);
  return { program: join(stdout.trim(), 'server'), user: await chooseServerUser(testMachine, '') };
}

/** A compiled copy of this file is deeper in the package. */
function installer(folder: string): string {
  const script = join(folder, 'scripts/install-mysql.mjs');
  return existsSync(script) || folder === dirname(folder) ? script : installer(dirname(folder));
}

/** What `--datadir` names at last, with the system tables. */
export async function makeData(
  flavour: MysqlFlavour,
  program: string,
  folder: string,
  user: ServerUser | undefined,
): Promise<void> {
  const data = join(folder, 'data');
  // The address, not the name: the server does not resolve names.
  const rights = `create user if not exists root@'127.0.0.1';
grant all privileges on *.* to root@'127.0.0.1' with grant option;
`;
  await writeFile(join(folder, 'rights.sql'), rights);
  await mkdir(join(folder, 'tmp'));
  if (flavour === 'mariadb') await mkdir(data);
  if (user !== undefined) {
    const made = ['', 'tmp', 'rights.sql', ...(flavour === 'mariadb' ? ['data'] : [])];
    await Promise.all(made.map((name) => chown(join(folder, name), user.uid, user.gid)));
  }
  const options = [`--datadir=${data}`, `--tmpdir=${join(folder, 'tmp')}`, '--skip-log-bin'];
  if (flavour === 'mysql') {
    await run(program, [...options, '--initialize-insecure'], asUser(user));
    return;
  }
  const share = join(program, '../root/usr/share/mysql');
  const parts = ['mysql_system_tables', 'mysql_performance_tables', 'mysql_system_tables_data'];
  const texts = await Promise.all(parts.map((name) => readFile(join(share, `${name}.sql`), 'utf8')));
  const child = run(program, [...options, '--bootstrap'], asUser(user));
  child.child.stdin?.end(['create database mysql;', 'use mysql;', ...texts].join('\n'));
  await child;
}

/** How a program is run as that user. */
export function asUser(user: ServerUser | undefined): { readonly cwd: string; uid?: number; gid?: number } {
  // The working folder of the tests may be closed to that user.
  return { cwd: '/', ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }) };
}

/** Options of a server but for its places. */
export function optionsOf(
  flavour: MysqlFlavour,
  { durable = false, more = [] }: MysqlSettings,
): readonly string[] {
  const relaxed = ['innodb-flush-log-at-trx-commit=0', 'innodb-doublewrite=0', 'innodb-flush-method=nosync'];
  const own = {
    mariadb: ['innodb-log-file-size=128M'],
    mysql: ['innodb-redo-log-capacity=128M', 'mysqlx=OFF', 'secure-file-priv=NULL'],
  };
  const options = [
    'bind-address=127.0.0.1',
    'skip-name-resolve',
    'skip-log-bin',
    'max-connections=300',
    'innodb-buffer-pool-size=128M',
    // Whoever compares a time of the queue with the session's own clock is told.
    'default-time-zone=-03:00',
    ...own[flavour],
    ...(durable ? [] : relaxed),
    ...more,
  ];
  return options.map((option) => `--${option}`);
}

/**
 * The keeper tells the server's process id, and its end. It ends the server and removes its data when its own input ends, which
 * it does with this process.
 */
const keeper = `folder=$1; shift; exec 3<&0
"$@" > "$folder/log" 2>&1 3<&- < /dev/null &
server=$!
echo $server
{ cat <&3 > /dev/null; [ -e "$folder/ended" ] || kill -9 $server; } > /dev/null 2>&1 &
# Nobody may be left to be told.
trap '' PIPE
wait $server
echo > "$folder/ended"
echo ended
wait
cd /
rm -rf "$folder"`;

/** Options of a server whose folder {@link makeData} has filled. */
export function placesOf(folder: string, port: number): readonly string[] {
  const places = [`--datadir=${folder}/data`, `--tmpdir=${folder}/tmp`, `--init-file=${folder}/rights.sql`];
  // Relative to the data: the path of a socket may have some hundred characters only.
  return [...places, '--socket=server.sock', '--pid-file=server.pid', `--port=${port}`];
}

async function launch(
  program: string,
  folder: string,
  user: ServerUser | undefined,
  options: readonly string[],
): Promise<MysqlServer> {
  const port = await findFreePort();
  const args = [...placesOf(folder, port), ...options];
  // Detached, so that Ctrl-C reaches only the runner, which then ends this.
  const child = spawn('/bin/sh', ['-c', keeper, 'keeper', folder, program, ...args], {
    ...asUser(user),
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await exited;
    // In a folder in which its user may not remove it.
    await rm(folder, { recursive: true, force: true });
  };
  let said = '';
  child.stdout.on('data', (text) => (said += String(text)));
  const url = `mysql://root@127.0.0.1:${port}`;
  const outcome = await waitUntil(
    async () => (said.endsWith('ended\n') ? 'ended' : (await answers(url)) ? 'ready' : undefined),
    { everyMs: 20, timeoutMs: startLimitMs },
  );
  if (outcome === 'ready') return { url, port, pid: Number.parseInt(said, 10), stop };
  const log = await readFile(join(folder, 'log'), 'utf8').catch(() => '');
  await stop();
  throw new Error(`${program} did not start:\n${log.trim().split('\n').slice(-12).join('\n')}`);
}

/** Whether a server takes connections. */
export async function answers(url: string): Promise<boolean> {
  try {
    const connection = await createConnection({ uri: url, connectTimeout: 10_000 });
    await connection.end();
    return true;
  } catch {
    return false;
  }
}

function findFreePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
