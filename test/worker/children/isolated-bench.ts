import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BroadcastChannel } from 'node:worker_threads';
import type { Provider } from '@nestjs/common';
import { beforeAll, inject } from 'vitest';
import type { IsolationOptions } from '../../../lib/index.js';
import { Greeting, IsolatedHandlers, ProcessHandlers } from '../../support/children/isolated-module.js';
import type { QueueApp, QueueAppOptions } from '../../support/queue-app.js';
import { createEffectTable } from '../../support/worker-process.js';
import { until } from '../../support/waiting.js';
import type { QueueBench } from '../queue-bench.js';

/** A compiled program of `test/support/children`: a thread has nobody to translate TypeScript for it. */
export const childFile = (name: string): URL =>
  pathToFileURL(join(inject('buildDir'), 'test/support/children', `${name}.js`));

/** What a handler has told: which attempt has started, and in which thread. */
export interface Told {
  readonly started: string;
  readonly threadId: number;
}

export interface IsolatedBench {
  /** Starts an application with the handlers of `isolated-module.ts`, which is closed after the test. */
  start(isolation?: Partial<IsolationOptions>, options?: QueueAppOptions): Promise<QueueApp>;
  /** The same with the handlers that run in processes. */
  startInProcesses(isolation?: Partial<IsolationOptions>, options?: QueueAppOptions): Promise<QueueApp>;
  /** What handlers have told since the last call of `start`. */
  readonly told: readonly Told[];
  /** Resolves with what the handler of that attempt has told. */
  started(id: string): Promise<Told>;
  /** Lets all handlers that hold go on. */
  release(): void;
  /** Effects that were committed, by task. */
  effects(): Promise<readonly string[]>;
}

/** Isolated handlers for the queue of a test file. */
export function useIsolated(bench: QueueBench): IsolatedBench {
  let told: Told[] = [];

  beforeAll(async () => {
    await createEffectTable(bench.database);
    const channel = new BroadcastChannel('isolated');
    channel.unref();
    channel.onmessage = (event: unknown) => {
      const { data } = event as { readonly data: unknown };
      if (typeof data === 'object') told.push(data as Told);
    };
  });

  const module = childFile('isolated-module');
  const startWith = (handlers: readonly Provider[], options: QueueAppOptions): Promise<QueueApp> => {
    told = [];
    process.env['ISOLATED_URL'] = bench.database.url;
    return bench.start({ handlers: [Greeting, ...handlers], ...options });
  };
  return {
    get told() {
      return told;
    },
    start: (isolation, options) =>
      startWith([IsolatedHandlers], { isolation: { module, threads: 1, ...isolation }, ...options }),
    startInProcesses: (isolation, options) =>
      startWith([ProcessHandlers], { isolation: { module, processes: 1, ...isolation }, ...options }),
    started: (id) =>
      until(async () => told.find(({ started }) => started === id), `the start of attempt ${id}`),
    release: () => {
      const channel = new BroadcastChannel('isolated');
      channel.postMessage('release');
      channel.close();
    },
    effects: async () => {
      const { rows } = await bench.pool.query<{ task_root: string }>('select task_root from effect');
      return rows.map(({ task_root }) => task_root);
    },
  };
}
