import { fork, type ChildProcess } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { TarefaError } from '../../errors.js';
import type { PoolKind, ResolvedIsolation } from '../../options/isolation-options.js';
import type { ServerSession } from '../../storage/transactions.js';
import { within } from '../../timing/deadline.js';
import { failureMessage } from '../../values/failure-text.js';
import { ownFile } from '../../values/own-file.js';
import type { RecordedReturn } from '../running/handler-context.js';
import { deserializeError } from './serialized-error.js';
import type { SerializedEnd, ChildOrder, ChildReady, ChildReport, RunOrder } from './messages.js';

/** How a run ended: told by the child; or the child is gone, and the session of its transaction may still be at work. */
export type ChildEnd =
  | { readonly kind: 'told'; readonly end: SerializedEnd }
  | { readonly kind: 'gone'; readonly error: Error; readonly session: ServerSession | undefined };

/** An application that is not there by then will not be. */
export const bootMs = 180_000;
/** JavaScript is interrupted at once; a thread in native code ends when that returns. */
const killMs = 1_000;

/** A thread or a process with an application of its own, as its parent sees it. It runs one attempt at a time. */
export class Child {
  /** Resolves when its application is there; rejects with why it is not. */
  readonly ready: Promise<ChildReady>;
  /** Resolves when nothing is left of it. */
  readonly gone: Promise<void>;
  readonly #kind: PoolKind;
  readonly #maxMemoryMb: number | undefined;
  /** Both tell of themselves by the events `message`, `error` and `exit`. */
  readonly #carrier: Worker | ChildProcess;
  #booting:
    { readonly resolve: (ready: ChildReady) => void; readonly reject: (reason: Error) => void } | undefined;
  #isReady = false;
  #running:
    { readonly resolve: (end: ChildEnd) => void; readonly progressed: (message: string) => void } | undefined;
  #session: ServerSession | undefined;
  #completed: RecordedReturn | undefined;
  /** Why it ends; undefined while it does not. */
  #failure: Error | undefined;

  /** @param queue name of the queue in its application */
  constructor(kind: PoolKind, { module, maxMemoryMb }: ResolvedIsolation, queue: string) {
    this.#kind = kind;
    this.#maxMemoryMb = maxMemoryMb;
    this.#carrier = kind === 'thread' ? startThread(maxMemoryMb) : startProcess(maxMemoryMb);
    const events: EventEmitter = this.#carrier;
    this.ready = new Promise((resolve, reject) => (this.#booting = { resolve, reject }));
    events.on('message', (report: ChildReport) => this.#heard(report));
    events.on('error', (error: unknown) => (this.#failure ??= this.#uncaught(error)));
    this.gone = new Promise((resolve) => {
      events.once('exit', (code: number | null, signal?: NodeJS.Signals | null) => {
        this.#end((this.#failure ??= this.#crashed(describeExit(code, signal, maxMemoryMb))));
        resolve();
      });
    });
    const late = setTimeout(() => this.kill(this.#crashed(`did not start in ${bootMs / 1_000} s`)), bootMs);
    const started = (): void => clearTimeout(late);
    void this.ready.then(started, started);
    this.tell({ type: 'boot', module: module.href, queue });
  }

  /** True while it has its application, and does not end. */
  get isReady(): boolean {
    return this.#isReady && this.#failure === undefined;
  }

  /** True when it can run an attempt. */
  get isFree(): boolean {
    return this.isReady && this.#running === undefined;
  }

  /** What the handler that runs, or the last one, finished its task with inside a transaction of its own; undefined when it did not. */
  get completed(): RecordedReturn | undefined {
    return this.#completed;
  }

  /**
   * Runs an attempt. Never rejects.
   *
   * @param progressed told what its handler says of its progress
   */
  run(order: RunOrder, progressed: (message: string) => void): Promise<ChildEnd> {
    this.#session = undefined;
    this.#completed = undefined;
    return new Promise((resolve) => {
      this.#running = { resolve, progressed };
      if (this.#failure) this.#end(this.#failure);
      else this.tell(order);
    });
  }

  tell(order: ChildOrder): void {
    if (this.#carrier instanceof Worker) this.#carrier.postMessage(order);
    // One that has ended says so by its event.
    else this.#carrier.send(order, () => undefined);
  }

  /** Ends it, whatever it does: what it runs ends at once with that reason. A thread in native code goes when that returns. */
  kill(reason: Error): void {
    this.#failure ??= reason;
    if (this.#carrier instanceof Worker) void this.#carrier.terminate();
    else this.#carrier.kill('SIGKILL');
    this.#end(this.#failure);
  }

  /** Lets its application close, for so long, and ends it. */
  async close(mostMs: number): Promise<void> {
    if (!this.#failure) this.tell({ type: 'close' });
    await within(this.gone, mostMs);
    this.kill(this.#crashed('did not close in time'));
    await within(this.gone, killMs);
  }

  #heard(report: ChildReport): void {
    switch (report.type) {
      case 'ready':
        this.#isReady = true;
        this.#booting?.resolve(report);
        break;
      case 'refused':
        this.#booting?.reject(deserializeError(report.error) as Error);
        break;
      case 'opened':
        this.#session = report.session;
        break;
      case 'progress':
        this.#running?.progressed(report.message);
        break;
      case 'completed':
        this.#completed = report.recorded;
        break;
      case 'ended':
        this.#finish({ kind: 'told', end: report.end });
        break;
    }
  }

  #end(error: Error): void {
    this.#booting?.reject(error);
    this.#finish({ kind: 'gone', error, session: this.#session });
  }

  #finish(end: ChildEnd): void {
    const running = this.#running;
    this.#running = undefined;
    running?.resolve(end);
  }

  #uncaught(error: unknown): TarefaError {
    const isMemory = (error as { readonly code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    if (isMemory) return this.#crashed(`ran out of memory${limitText(this.#maxMemoryMb)}`, error);
    return this.#crashed(`was ended by an uncaught error: ${failureMessage(error)}`, error);
  }

  /** @param what follows "the thread of the handler" */
  #crashed(what: string, cause?: unknown): TarefaError {
    return crashed(this.#kind, what, cause);
  }
}

/** @param what follows "the thread of the handler" */
export function crashed(kind: PoolKind, what: string, cause?: unknown): TarefaError {
  const message = `the ${kind} of the handler ${what}`;
  return new TarefaError('HANDLER_CRASHED', message, cause === undefined ? {} : { cause });
}

/** A process tells no more than that; what it has written to its output says why. */
export function describeExit(
  code: number | null,
  signal: NodeJS.Signals | null | undefined,
  maxMemoryMb: number | undefined,
): string {
  if (!signal) return `exited with code ${code}`;
  const mayBeMemory = signal === 'SIGABRT' ? `, as when it runs out of memory${limitText(maxMemoryMb)}` : '';
  return `was killed by ${signal}${mayBeMemory}`;
}

function limitText(maxMemoryMb: number | undefined): string {
  return maxMemoryMb === undefined ? '' : ` (isolation.maxMemoryMb is ${maxMemoryMb})`;
}

function startThread(maxMemoryMb: number | undefined): Worker {
  const limits = maxMemoryMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb } };
  return new Worker(mainFile(), { ...limits });
}

function startProcess(maxMemoryMb: number | undefined): ChildProcess {
  const child = fork(fileURLToPath(mainFile()), [], {
    serialization: 'advanced',
    execArgv: nodeOptions(maxMemoryMb),
  });
  // One that could not be started tells of no exit.
  child.once('error', () => {
    if (child.pid === undefined) child.emit('exit', null, null);
  });
  return child;
}

/** What a process of handlers is started with. */
export function nodeOptions(maxMemoryMb: number | undefined): string[] {
  const limits = maxMemoryMb === undefined ? [] : [`--max-old-space-size=${maxMemoryMb}`];
  return [...inherited(process.execArgv), ...limits];
}

const ofParent = /^(?:--inspect(?:-|=|$)|-[ep]+(?:=|$)|--(?:eval|print)(?:=|$))/;
const withValue = new Set(['-e', '-p', '-pe', '--eval', '--print', '--inspect-port']);

/** Options of Node.js without the program that this process was given by them; two cannot be inspected at one port. */
export function inherited(options: readonly string[]): readonly string[] {
  return options.filter(
    (option, index) => !ofParent.test(option) && !withValue.has(options[index - 1] ?? ''),
  );
}

function mainFile(): URL {
  return ownFile('assembly/child-main.js', 'an isolated handler');
}
