import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brokerPrograms } from '../../test/coordination/brokers/broker-process.js';
import { debianFile } from '../../test/faults/kit/debian-tool.js';

const keeper = fileURLToPath(new URL('redis-keeper.js', import.meta.url));
const startLimitMs = 10_000;

/**
 * The benchmark's own Redis, the machine's or Debian's package, without persistence: what is in it is lost when it ends, which
 * makes it faster than a durable queue may be.
 */
export class RedisServer {
  readonly #child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly version: string;

  /** Returns undefined where `redis-server` cannot be had. */
  static async start(): Promise<RedisServer | undefined> {
    const redis = await findRedis();
    if (redis === undefined) return undefined;
    const { path, env, version } = redis;
    const folder = await mkdtemp(join(tmpdir(), `tarefa-redis-${process.pid}-`));
    const port = await findFreePort();
    const args = [path, folder, '--port', String(port), '--bind', '127.0.0.1'];
    const child = fork(keeper, [...args, '--save', '', '--appendonly', 'no'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    const [pid] = (await once(child, 'message')) as [number];
    const server = new RedisServer(child, pid, port, version);
    if (await answers(port)) return server;
    await server.stop();
    throw new Error(`redis-server did not start on port ${port}`);
  }

  private constructor(child: ChildProcess, pid: number, port: number, version: string) {
    this.#child = child;
    this.pid = pid;
    this.port = port;
    this.version = version;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.disconnect();
      await exited;
    }
  }
}

interface Redis {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/** The one in PATH, else that of Debian's package. */
async function findRedis(): Promise<Redis | undefined> {
  const installed = { path: 'redis-server', env: {} };
  const places = [
    () => Promise.resolve(installed),
    () => debianFile('usr/bin/redis-server', brokerPrograms.redis.packages),
  ];
  for (const find of places) {
    const place = await find().catch(() => undefined);
    const version = place && (await readVersion(place.path, place.env));
    if (place && version !== undefined) return { ...place, version };
  }
  return undefined;
}

async function readVersion(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const child = spawn(path, ['--version'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  return new Promise((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('close', () => resolve(/v=(\S+)/.exec(output)?.[1]));
  });
}

async function answers(port: number): Promise<boolean> {
  const until = performance.now() + startLimitMs;
  while (performance.now() < until) {
    const socket = connect(port, '127.0.0.1');
    const connected = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (connected === true) return true;
    await pause(20);
  }
  return false;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
