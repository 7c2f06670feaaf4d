import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const keeper = fileURLToPath(new URL('redis-keeper.js', import.meta.url));
const startLimitMs = 10_000;

/**
 * The benchmark's own Redis, from the `redis-server` in PATH, without persistence: what is in it is lost when it
 * ends, which makes it faster than a durable queue may be.
 */
export class RedisServer {
  readonly #child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly version: string;

  /** Answers undefined where `redis-server` is not installed. */
  static async start(): Promise<RedisServer | undefined> {
    const version = await readVersion();
    if (version === undefined) return undefined;
    const folder = await mkdtemp(join(tmpdir(), `tarefa-redis-${process.pid}-`));
    const port = await findFreePort();
    const args = [folder, '--port', String(port), '--bind', '127.0.0.1'];
    const child = fork(keeper, [...args, '--save', '', '--appendonly', 'no'], {
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

async function readVersion(): Promise<string | undefined> {
  const child = spawn('redis-server', ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] });
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
