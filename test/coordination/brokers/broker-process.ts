import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianFile } from '../../faults/kit/debian-tool.js';
import { findFreePort } from '../../faults/kit/free-port.js';
import { until } from '../../support/waiting.js';

/** How long a hook waits that starts one: its package may have to be fetched. */
export const brokerStartMs = 300_000;

/** Where Debian has them. */
export const brokerPrograms = {
  redis: {
    file: 'usr/bin/redis-server',
    packages: ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'],
    args: (port: number, folder: string) => [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no'],
    ],
  },
  nats: {
    file: 'usr/sbin/nats-server',
    packages: ['nats-server'],
    args: (port: number) => ['--port', String(port), '--addr', '127.0.0.1'],
  },
} as const;

/** Debian's Redis or NATS, on a port that it keeps. */
export class BrokerProcess {
  readonly port: number;
  readonly #kind: keyof typeof brokerPrograms;
  readonly #folder: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  /** @param args besides those of every test, by its folder and its port */
  static async create(
    kind: keyof typeof brokerPrograms,
    args: (folder: string, port: number) => readonly string[] | Promise<readonly string[]> = () => [],
  ): Promise<BrokerProcess> {
    const folder = await mkdtemp(join(tmpdir(), `tarefa-${kind}-`));
    const port = await findFreePort();
    const broker = new BrokerProcess(kind, port, folder, await args(folder, port));
    await broker.start();
    return broker;
  }

  private constructor(
    kind: keyof typeof brokerPrograms,
    port: number,
    folder: string,
    args: readonly string[],
  ) {
    this.#kind = kind;
    this.port = port;
    this.#folder = folder;
    this.#args = args;
  }

  /** Starts it, also after {@link kill}. */
  async start(): Promise<void> {
    const { file, packages, args } = brokerPrograms[this.#kind];
    const { path, env } = await debianFile(file, packages);
    const all = [...args(this.port, this.#folder), ...this.#args];
    const child = spawn(path, all, { env: { ...process.env, ...env }, stdio: 'pipe' });
    this.#child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (output += text.toString()));
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${this.#kind} ended: ${output}`);
      return accepts(this.port);
    }, `${this.#kind} accepts connections`);
  }

  /** Ends it without a word to anybody. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** Ends it for good. */
  async remove(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
