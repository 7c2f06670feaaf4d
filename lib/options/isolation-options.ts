import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shownValue } from '../values/shown-value.js';
import type { OptionCheck } from './option-check.js';

/** In what an isolated handler runs. */
export type IsolateKind = PoolKind | 'detached';

/** Of which a worker keeps some that are used again. */
export type PoolKind = 'thread' | 'process';

/** Where handlers with `isolate` run. */
export interface IsolationOptions {
  /**
   * The compiled file of the module that each of them makes an application of: a `file:` URL or an absolute path. It exports one
   * class with `@Module()`, which imports the queue and provides the handlers.
   */
  readonly module: URL | string;
  /** How many threads there are; each runs one task at a time. Default: one less than there are processors, from 1 to 5. */
  readonly threads?: number | undefined;
  /** How many processes there are; each runs one task at a time. Default: one less than there are processors, from 1 to 5. */
  readonly processes?: number | undefined;
  /**
   * MiB of JavaScript heap that each may use: the task of one that needs more fails. A `Buffer` is not on the heap.
   * Default: the limit of Node.js.
   */
  readonly maxMemoryMb?: number | undefined;
  /**
   * The directory for the output of detached handlers, a file for each attempt; it is made where it is missing, and nothing is
   * deleted from it. Needed for `isolate: 'detached'` only.
   */
  readonly outputDir?: string | undefined;
}

/** {@link IsolationOptions}, checked and complete. */
export interface ResolvedIsolation {
  readonly module: URL;
  readonly threads: number;
  readonly processes: number;
  /** Undefined: the limit of Node.js. */
  readonly maxMemoryMb: number | undefined;
  /** Undefined: there are no detached handlers. */
  readonly outputDir: string | undefined;
}

/** Set where isolated handlers run, for what their module loads: the process id, which what is started from there does not share. */
const childVariable = 'TAREFA_CHILD';

/**
 * From now on this thread or process runs isolated handlers. The environment of a thread is a copy of its own.
 *
 * @param kind `detached` where it has a worker of its own
 */
export function markAsIsolatedChild(kind: 'pooled' | 'detached' = 'pooled'): void {
  process.env[childVariable] = markOf(kind);
}

/** True in a thread or process that runs isolated handlers. */
export function isIsolatedChild(): boolean {
  return process.env[childVariable] === markOf('pooled') || isDetachedChild();
}

/** True in the process of a detached handler. */
export function isDetachedChild(): boolean {
  return process.env[childVariable] === markOf('detached');
}

function markOf(kind: 'pooled' | 'detached'): string {
  return kind === 'detached' ? `${process.pid} detached` : String(process.pid);
}

/** As many as leave a processor to the event loop. */
export const processorsLeft = Math.max(1, availableParallelism() - 1);
/** Of 10 slots, the default of a queue, as many as leave half of them to other handlers. */
const defaultSize = Math.min(5, processorsLeft);

const knownOptions: Record<keyof IsolationOptions, true> = {
  module: true,
  threads: true,
  processes: true,
  maxMemoryMb: true,
  outputDir: true,
};

/** Reads the option, the mistakes of which `check` collects. */
export function resolveIsolation(
  given: IsolationOptions | undefined,
  check: OptionCheck,
): ResolvedIsolation | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null) {
    check.mistake(`isolation must be an object with module (got ${shownValue(given)})`);
    return undefined;
  }
  check.known(Object.keys(given), Object.keys(knownOptions), 'isolation.');
  const { module, threads = defaultSize, processes = defaultSize, maxMemoryMb, outputDir } = given;
  if (maxMemoryMb !== undefined) check.whole('isolation.maxMemoryMb', maxMemoryMb, 16, 1_048_576);
  if (outputDir !== undefined && (typeof outputDir !== 'string' || !isAbsolute(outputDir)))
    check.mistake(
      `isolation.outputDir must be the absolute path of a directory (got ${shownValue(outputDir)})`,
    );
  return Object.freeze({
    module: readModule(module, check),
    threads: check.whole('isolation.threads', threads, 1, 1_000),
    processes: check.whole('isolation.processes', processes, 1, 1_000),
    maxMemoryMb,
    outputDir,
  });
}

const nowhere = new URL('file:///');

function readModule(module: unknown, check: OptionCheck): URL {
  const url = urlOf(module);
  if (url?.protocol === 'file:') return url;
  check.mistake(
    `isolation.module must be the file: URL or the absolute path of a compiled module, such as ` +
      `new URL('./tasks.module.js', import.meta.url) or join(__dirname, 'tasks.module.js') (got ${shownValue(module)})`,
  );
  return nowhere;
}

function urlOf(module: unknown): URL | undefined {
  if (module instanceof URL) return module;
  if (typeof module !== 'string') return undefined;
  if (isAbsolute(module)) return pathToFileURL(module);
  return URL.canParse(module) ? new URL(module) : undefined;
}
