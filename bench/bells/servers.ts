import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CoordinationServer } from '../../lib/coordination/tcp/coordination-server.js';
import { log } from '../command-line.js';

/** What carries rings, and the way to the database on which nobody can listen. */
export interface StartedServers {
  readonly direct: string;
  /** Undefined without pgbouncer. */
  readonly pooled: string | undefined;
  /** Addresses: `tcp://…`, `redis://…`, `nats://…`. */
  readonly bells: readonly string[];
  readonly stop: () => Promise<void>;
}

const startLimitMs = 10_000;

/** @param direct address of an empty database */
export async function startServers(direct: string): Promise<StartedServers> {
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-bells-'));
  await chmod(folder, 0o755);
  const children: ChildProcess[] = [];
  const start = async (
    program: string,
    argsOf: (port: number) => readonly string[] | Promise<readonly string[]>,
  ): Promise<number | undefined> => {
    const port = await findFreePort();
    const child = spawn(program, [...(await argsOf(port))], { stdio: 'ignore' });
    child.on('error', () => log(`left out: ${program} is not in PATH`));
    children.push(child);
    for (const until = performance.now() + startLimitMs; performance.now() < until; await pause(50)) {
      if (child.pid === undefined || child.exitCode !== null) return undefined;
      if (await accepts(port)) return port;
    }
    return undefined;
  };
  const bouncer = await start('pgbouncer', async (port) => {
    const config = join(folder, 'pgbouncer.ini');
    await writeFile(config, bouncerSettings(new URL(direct), port));
    await chmod(config, 0o644);
    return [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), '-q', config];
  });
  const redis = await start('redis-server', (port) => [
    '--port',
    String(port),
    '--save',
    '',
    '--dir',
    folder,
  ]);
  const nats = await start('nats-server', (port) => ['--port', String(port), '--addr', '127.0.0.1']);
  const server = await CoordinationServer.start({
    ...{ host: '127.0.0.1', notifyPort: 0, lockPort: 0, maxClients: 50, idleTimeoutMs: 30_000 },
    ...{ messageTimeoutMs: 5_000, queue: 'nobody', mayLock: async () => true, report: log },
  });
  const pooled = new URL(direct);
  pooled.port = String(bouncer);
  pooled.hostname = '127.0.0.1';
  return {
    direct,
    pooled: bouncer === undefined ? undefined : pooled.href,
    bells: [
      `tcp://127.0.0.1:${server.lockPort}`,
      ...(redis === undefined ? [] : [`redis://127.0.0.1:${redis}`]),
      ...(nats === undefined ? [] : [`nats://127.0.0.1:${nats}`]),
    ],
    stop: async () => {
      await server.close();
      for (const child of children) {
        if (child.pid === undefined || child.exitCode !== null) continue;
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function bouncerSettings({ hostname, port, username, password }: URL, own: number): string {
  return `[databases]
* = host=${hostname} port=${port} user=${username} password='${decodeURIComponent(password)}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
ignore_startup_parameters = extra_float_digits
`;
}

function findFreePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
