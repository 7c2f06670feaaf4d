import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerUser } from '../../../lib/embedded/server-user.js';
import {
  answers,
  asUser,
  findProgram,
  makeData,
  optionsOf,
  placesOf,
  type MysqlFlavour,
} from '../../support/mysql-server.js';
import { until } from '../../support/waiting.js';
import { findFreePort } from './free-port.js';
import type { SmallDisk } from './small-disk.js';

/** A MariaDB or MySQL of one run's own, durable as in production, that may be killed and started again. */
export interface MysqlCluster {
  /** Address of the server, with all rights, without a database. */
  readonly url: string;
  readonly port: number;
  /** Undefined while it is down. */
  readonly pid: number | undefined;
  /** `kill -9`: as a power failure would, but for the disk. */
  crash(): Promise<void>;
  /** Ends it in good order, or else as an operating system does whose patience is over. */
  shutDown(): Promise<void>;
  /** Starts it on the same data and port; resolves when it takes connections. */
  start(): Promise<void>;
  /** What it has written to its log since the first start. */
  log(): Promise<string>;
  /** Ends everything and removes the folder. May be called again. */
  stop(): Promise<void>;
}

const startLimitMs = 120_000;
/** A server that has accepted a connection while it was shutting down waits until its client ends it: MariaDB 10.11. */
const shutDownLimitMs = 20_000;

/**
 * Starts a server, with its data in a temporary folder, on a port of 127.0.0.1.
 *
 * @param more of its options, as `name=value`
 * @param disk has the database `shop`, which is then there
 */
export async function startMysqlCluster(
  flavour: MysqlFlavour,
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  disk?: SmallDisk,
): Promise<MysqlCluster> {
  const { program, user } = await findProgram(flavour);
  const folder = await mkdtemp(join(tmpdir(), `tarefa-${flavour}-cluster-${process.pid}-`));
  const options = optionsOf(flavour, { durable: true, more });
  const launcher = disk?.launcher(user) ?? [];
  const cluster = new LocalServer({ folder, program, user, options, env, launcher }, await findFreePort());
  try {
    await makeData(flavour, program, folder, user);
    // Where a database is, a folder is.
    if (disk) await symlink(disk.folder, join(folder, 'data/shop'));
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/**
 * The keeper tells the server's process id, and ends the server when its own input ends, which it does with this process, however
 * that ends.
 */
const keeper = `folder=$1; shift; exec 3<&0
"$@" >> "$folder/log" 2>&1 3<&- < /dev/null &
server=$!
echo $server
{ cat <&3 > /dev/null; kill -9 $server; } > /dev/null 2>&1 &
cat=$!
trap '' PIPE
wait $server
kill $cat 2> /dev/null`;

/** What a server is started with. */
interface ServerParts {
  readonly folder: string;
  readonly program: string;
  readonly user: ServerUser | undefined;
  readonly options: readonly string[];
  /** More of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** A program with arguments that runs its command line, with our rights, and hands them over itself; empty for none. */
  readonly launcher: readonly string[];
}

class LocalServer implements MysqlCluster {
  readonly url: string;
  readonly port: number;
  readonly #parts: ServerParts;
  #keeper: ChildProcess | undefined;
  #pid: number | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(parts: ServerParts, port: number) {
    this.#parts = parts;
    this.port = port;
    this.url = `mysql://root@127.0.0.1:${port}`;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  crash(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async shutDown(): Promise<void> {
    const impatient = setTimeout(() => void this.#end('SIGKILL').catch(() => undefined), shutDownLimitMs);
    await this.#end('SIGTERM').finally(() => clearTimeout(impatient));
  }

  async start(): Promise<void> {
    if (this.#keeper) throw new Error('the server runs already');
    await until(
      async () => {
        this.#launch();
        const outcome = await until(
          async () => (this.#keeper ? (await answers(this.url)) && 'ready' : 'ended'),
          'the server is ready',
          startLimitMs,
        );
        if (outcome === 'ready') return true;
        const said = (await this.log()).trim().split('\n').slice(-12).join('\n');
        // Something else took the port, or the kernel has not freed it yet.
        if (!/in use/i.test(said)) throw new Error(`${this.#parts.program} did not start:\n${said}`);
        return false;
      },
      'the server starts',
      startLimitMs,
    );
  }

  log(): Promise<string> {
    return readFile(join(this.#parts.folder, 'log'), 'utf8').catch(() => '');
  }

  async stop(): Promise<void> {
    this.#keeper?.stdin?.end();
    await this.#ended;
    await rm(this.#parts.folder, { recursive: true, force: true });
  }

  #launch(): void {
    const { folder, program, user, options, env, launcher } = this.#parts;
    const command = [...launcher, program, ...placesOf(folder, this.port), ...options];
    // Detached, so that Ctrl-C reaches only the runner, which then ends this.
    const child = spawn('/bin/sh', ['-c', keeper, 'keeper', folder, ...command], {
      ...asUser(launcher.length > 0 ? undefined : user),
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#keeper = child;
    child.stdin?.on('error', () => undefined);
    child.stdout?.once('data', (text) => {
      if (this.#keeper === child) this.#pid = Number.parseInt(String(text), 10);
    });
    this.#ended = once(child, 'exit').finally(() => {
      this.#keeper = undefined;
      this.#pid = undefined;
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#pid === undefined) throw new Error('the server is down');
    process.kill(this.#pid, signal);
    await this.#ended;
  }
}
