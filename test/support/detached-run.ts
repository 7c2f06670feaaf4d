import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import type { QueueModuleOptions } from '../../lib/index.js';
import type { TestDatabase } from './database.js';
import { makeTemporaryFolder } from './folders.js';
import { forkChild, type Child } from './processes.js';
import { until } from './waiting.js';

/** A process of `detached-module.ts` that has told something. */
export interface DetachedProcess {
  readonly type: 'started' | 'booting';
  readonly pid: number;
  /** Of an attempt that runs. */
  readonly id?: string;
  readonly task?: string;
  readonly attempt?: number;
  /** What it was told to stop by. */
  readonly words: readonly string[];
  /** True while it lives. */
  isThere: boolean;
  /** Says how it is to go on. */
  say(word: 'succeed' | 'fail' | 'report' | 'boot' | 'exit' | 'crash' | 'exhaust'): void;
}

export interface DetachedRun {
  /** The options of workers and processes. */
  readonly options: QueueModuleOptions;
  readonly outputDir: string;
  /** All processes that have told something since the test began. */
  readonly processes: readonly DetachedProcess[];
  /** The most attempts of one task that ran at the same time. */
  readonly mostAtOnce: number;
  /** The first process that starts to run, or to boot, after `already` others. */
  started(already?: number): Promise<DetachedProcess>;
  booting(already?: number): Promise<DetachedProcess>;
  /** Starts `detached-parent.ts`, which has to be ended. */
  parent(env?: Readonly<Record<string, string>>): Promise<Child>;
}

/** Recovery takes no time. */
export const promptly = { recovery: { intervalMs: 100, confirmMs: 50, graceMs: 0 } } as const;

/** Detached handlers in the database of a test file. What still runs of them after a test is killed. */
export function useDetached(database: () => Pick<TestDatabase, 'url'>): DetachedRun {
  let server: Server;
  let outputDir = '';
  let processes: DetachedProcess[] = [];
  let mostAtOnce = 0;

  const listen = (socket: Socket): void => {
    let told: (DetachedProcess & { words: string[] }) | undefined;
    const lines = createInterface(socket);
    lines.on('line', (line) => {
      const message = JSON.parse(line) as Omit<DetachedProcess, 'words'> | { readonly type: 'aborted' };
      if (message.type === 'aborted') {
        told?.words.push(message.type);
        return;
      }
      told = { ...message, words: [], isThere: true, say: (word) => void socket.write(`${word}\n`) };
      processes.push(told);
      const { task } = told;
      const atOnce = processes.filter((one) => one.isThere && one.task === task && task !== undefined);
      mostAtOnce = Math.max(mostAtOnce, atOnce.length);
    });
    // Also that of a process that was killed.
    socket.on('error', () => undefined);
    socket.on('close', () => told && (told.isThere = false));
  };

  const options = (): QueueModuleOptions => ({
    ...promptly,
    isolation: {
      module: pathToFileURL(join(inject('buildDir'), 'test/support/children/detached-module.js')).href,
      outputDir,
    },
  });

  beforeAll(async () => {
    outputDir = join(await makeTemporaryFolder(), 'output');
    server = createServer(listen);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    Object.assign(process.env, {
      DATABASE_URL: database().url,
      DETACHED_PORT: String(typeof address === 'object' && address?.port),
      QUEUE_OPTIONS: JSON.stringify(options()),
    });
  });
  afterEach(() => {
    for (const { pid } of processes) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    processes = [];
    mostAtOnce = 0;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const nth = (type: DetachedProcess['type'], already: number): Promise<DetachedProcess> =>
    until(async () => processes.filter((one) => one.type === type)[already], `a process that is ${type}`);

  return {
    get options() {
      return options();
    },
    get outputDir() {
      return outputDir;
    },
    get processes() {
      return processes;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    started: (already = 0) => nth('started', already),
    booting: (already = 0) => nth('booting', already),
    parent: async (env = {}) => {
      const parent = forkChild('detached-parent', { env });
      await parent.message('ready');
      return parent;
    },
  };
}
