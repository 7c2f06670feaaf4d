import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Pool } from 'pg';
import { prepareInstallation, type Installation } from '../../../lib/embedded/installation.js';
import { findPostgresPackage } from '../../../lib/embedded/postgres-package.js';
import { findProcessesOf, isRunning } from '../../../lib/embedded/process-table.js';
import { programOptions } from '../../../lib/embedded/run-program.js';
import { databaseUrl } from '../../../lib/embedded/server-database.js';
import { findServer } from '../../../lib/embedded/server-process.js';
import { testMachine } from '../../support/machine.js';
import { until } from '../../support/waiting.js';
import { findFreePort } from './free-port.js';

/** How a cluster is started. */
export interface ClusterOptions {
  /** Settings of PostgreSQL, as with `-c`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A program with arguments that runs the server's command line, such as one that enters a namespace. */
  readonly launcher?: (user: { readonly uid: number; readonly gid: number } | undefined) => readonly string[];
  /** More environment of the server, such as a library to load first. */
  readonly env?: Readonly<Record<string, string>>;
  /** Lines of pg_hba.conf to add. */
  readonly hba?: readonly string[];
  /** Reach the server through a socket in its folder, because it is in another network. */
  readonly socket?: boolean;
  /** Parent of the temporary folder with everything; default: the system's folder for temporary files. */
  readonly parent?: string;
}

/** A database of its own on a cluster. */
export interface ClusterDatabase {
  readonly url: string;
  /** Survives restarts of the server: it connects again when it is asked the next time. */
  readonly pool: Pool;
  /** Ends the pool and removes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** A PostgreSQL of one test file's own, durable as in production, that may be killed and started again. */
export interface Cluster {
  /** Address of the maintenance database, as superuser; through the socket when there is one. */
  url: string;
  readonly port: number;
  /** Process id of the server's main process; undefined while it is down. */
  readonly pid: number | undefined;
  /** PostgreSQL's own files. */
  readonly dataDirectory: string;
  createDatabase(): Promise<ClusterDatabase>;
  /** `kill -9` of the server and all its processes: as a power failure would, but for the disk. */
  crash(): Promise<void>;
  /** Stops the server: `fast` rolls transactions back, `immediate` leaves recovery to the next start. */
  shutDown(mode: 'fast' | 'immediate'): Promise<void>;
  /** Starts the server on the same port; resolves when it takes connections. */
  start(): Promise<void>;
  restart(mode: 'fast' | 'immediate'): Promise<void>;
  /** Changes settings that need no restart, by ALTER SYSTEM; null resets one. */
  settings(changes: Readonly<Record<string, string | null>>): Promise<void>;
  /** Runs one statement on the maintenance database, on a connection of its own. */
  run(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** What the server has written to its log since the first start. */
  log(): Promise<string>;
  /** Ends everything and removes the folder. May be called again. */
  stop(): Promise<void>;
}

/** Starts a cluster with fsync on, in a temporary folder, on a port of 127.0.0.1. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const parent = options.parent ?? tmpdir();
  await removeOldClusters(parent);
  const folder = await mkdtemp(join(parent, `tarefa-cluster-${process.pid}-`));
  // When root runs the tests, the server runs as another user, who has to get in here.
  await chmod(folder, 0o755);
  const packaged = await findPostgresPackage(testMachine);
  const installation = await prepareInstallation(testMachine, packaged, folder, () => undefined);
  const cluster = new LocalCluster(folder, installation, options, await findFreePort());
  if (options.hba)
    await appendFile(join(installation.directory.data, 'pg_hba.conf'), `${options.hba.join('\n')}\n`);
  await cluster.start();
  return cluster;
}

const startTimeoutMs = 60_000;
const endTimeoutMs = 60_000;

class LocalCluster implements Cluster {
  url: string;
  readonly port: number;
  readonly #folder: string;
  readonly #installation: Installation;
  readonly #options: ClusterOptions;
  readonly #pools = new Set<Pool>();
  readonly #atExit = (): void => this.#signalAll('SIGKILL');
  #server: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(folder: string, installation: Installation, options: ClusterOptions, port: number) {
    this.#folder = folder;
    this.#installation = installation;
    this.#options = options;
    this.port = port;
    const address = new URL(databaseUrl(port, installation.password));
    address.pathname = '/postgres';
    if (options.socket) address.searchParams.set('host', this.dataDirectory);
    this.url = address.href;
  }

  get pid(): number | undefined {
    return this.#server && findServer(this.#installation.directory)?.pid;
  }

  get dataDirectory(): string {
    return this.#installation.directory.data;
  }

  async createDatabase(): Promise<ClusterDatabase> {
    const name = `test_${randomBytes(8).toString('hex')}`;
    await this.run(`create database ${name}`);
    const address = new URL(this.url);
    address.pathname = `/${name}`;
    const pool = new Pool({ connectionString: address.href });
    // A test cuts the connections of idle clients; those errors belong to nobody.
    pool.on('error', () => undefined);
    this.#pools.add(pool);
    return {
      url: address.href,
      pool,
      drop: async () => {
        this.#pools.delete(pool);
        await pool.end();
        await this.run(`drop database if exists ${name} with (force)`);
      },
    };
  }

  async crash(): Promise<void> {
    this.#signalMain('SIGKILL');
    await this.#end();
  }

  async shutDown(mode: 'fast' | 'immediate'): Promise<void> {
    this.#signalMain(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await this.#end();
  }

  async restart(mode: 'fast' | 'immediate'): Promise<void> {
    await this.shutDown(mode);
    await this.start();
  }

  async start(): Promise<void> {
    if (this.#server) throw new Error('the cluster runs already');
    await until(async () => {
      this.#launch();
      const outcome = await this.#outcome();
      if (outcome === 'ready') return true;
      const text = await this.log();
      // Something else took the port, or the kernel has not freed the memory of a killed server yet.
      const mayPass = /could not create any TCP\/IP sockets|pre-existing shared memory block/.test(
        tail(text),
      );
      if (!mayPass) throw new Error(`PostgreSQL did not start on ${this.dataDirectory}:\n${tail(text)}`);
      return false;
    }, 'the cluster starts');
  }

  async settings(changes: Readonly<Record<string, string | null>>): Promise<void> {
    const loadTime = async (): Promise<unknown> =>
      (await this.run('select pg_conf_load_time()::text as loaded'))[0]?.['loaded'];
    const before = await loadTime();
    for (const [name, value] of Object.entries(changes)) {
      const change = value === null ? `reset ${name}` : `set ${name} = '${value.replaceAll("'", "''")}'`;
      await this.run(`alter system ${change}`);
    }
    await this.run('select pg_reload_conf()');
    await until(async () => (await loadTime()) !== before, 'the settings are loaded');
  }

  async run(sql: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  log(): Promise<string> {
    return readFile(this.#logFile, 'utf8').catch(() => '');
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#pools].map((pool) => pool.end()));
    if (this.#server) await this.shutDown('immediate');
    const { home, wanted } = this.#installation.directory;
    for (const folder of new Set([home, wanted, this.#folder])) {
      await rm(folder, { recursive: true, force: true });
    }
  }

  get #logFile(): string {
    return this.#installation.directory.logFile;
  }

  #launch(): void {
    const { binaries, user } = this.#installation;
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.#options.socket ? this.dataDirectory : '',
      max_connections: '100',
      logging_collector: 'off',
      log_destination: 'stderr',
      ...this.#options.settings,
      port: String(this.port),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const command = [binaries.postgres, '-D', this.dataDirectory, ...args];
    const launcher = this.#options.launcher?.(user) ?? [];
    const [program = '', ...rest] = [...launcher, ...command];
    const log = openSync(this.#logFile, 'a', 0o600);
    // A launcher needs our own rights, and hands them over itself.
    const started = programOptions(binaries.postgres, launcher.length > 0 ? undefined : user);
    const server = spawn(program, rest, {
      ...started,
      env: { ...started.env, ...this.#options.env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    process.on('exit', this.#atExit);
    this.#server = server;
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        this.#server = undefined;
        process.off('exit', this.#atExit);
        resolve();
      };
      server.once('exit', end);
      server.once('error', end);
    });
  }

  /** Waits until the launched server is ready, or has ended. */
  #outcome(): Promise<'ready' | 'ended'> {
    const look = async (): Promise<'ready' | 'ended' | undefined> => {
      if (!this.#server) return 'ended';
      return findServer(this.#installation.directory)?.ready ? 'ready' : undefined;
    };
    return until(look, 'the server is ready', startTimeoutMs);
  }

  async #end(): Promise<void> {
    await Promise.race([this.#ended, rejectAfter(endTimeoutMs, 'the server does not end')]);
    // Those that are busy would notice only later that their main process is gone, and write meanwhile.
    await until(async () => {
      this.#signalAll('SIGKILL');
      return findProcessesOf(this.dataDirectory).length === 0;
    }, 'all processes of the server are gone');
  }

  #signalMain(signal: NodeJS.Signals): void {
    const pid = this.pid;
    if (pid === undefined) throw new Error('the cluster is down');
    process.kill(pid, signal);
  }

  #signalAll(signal: NodeJS.Signals): void {
    for (const pid of findProcessesOf(this.dataDirectory)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

/** Of runs that were killed, and whose servers go on. */
async function removeOldClusters(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^tarefa-cluster-(\d+)-/.exec(name)?.[1]);
    const folder = join(parent, name);
    if (!(pid > 0) || isRunning({ pid, started: undefined })) continue;
    if ((await stat(folder).catch(() => undefined))?.uid !== process.getuid?.()) continue;
    for (const server of findProcessesOf(join(folder, 'data'))) process.kill(server, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

async function rejectAfter(ms: number, what: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms).unref();
  });
}

function tail(text: string): string {
  return text.trim().split('\n').slice(-12).join('\n');
}
