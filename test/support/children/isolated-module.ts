import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import {
  BadRequestException,
  Injectable,
  Module,
  UseGuards,
  UsePipes,
  type CanActivate,
  type PipeTransform,
} from '@nestjs/common';
import { z } from 'zod';
import {
  Ctx,
  fromMysql2,
  Payload,
  QueueClient,
  QueueModule,
  RetryIn,
  TaskHandler,
  UnrecoverableError,
  type SqlHandle,
  type TaskContext,
} from '../../../lib/index.js';
import { exhaust } from '../exhaust.js';
import { leaveEffect } from '../leave-effect.js';
import { onPostgres, ownSql } from '../run-database.js';
import { twins } from './twins.js';

/**
 * Isolated handlers of the queue `tasks`, and the module that a thread makes an application of. Its database is in
 * `ISOLATED_URL`. Handlers tell what they do on the channel `isolated`, and hear there what they are to do.
 */
const isolated = { isolate: 'thread', maxAttempts: 1 } as const;
/** Nothing else asks for a timer of that time: a test lets it ring. */
export const limitMs = 2_001;

/** Something that is injected. */
@Injectable()
export class Greeting {
  of(name: string): string {
    return `hello ${name}`;
  }
}

class Nobody implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class Trim implements PipeTransform {
  transform({ name }: { readonly name?: unknown }): object {
    if (typeof name !== 'string') throw new BadRequestException('name must be text');
    return { name: name.trim() };
  }
}

const amount = z.object({ amount: z.coerce.number() });

function tell(message: object): void {
  const channel = new BroadcastChannel('isolated');
  channel.postMessage(message);
  channel.close();
}

/** Resolves when the test says that on the channel. */
async function hear(word: string): Promise<void> {
  const channel = new BroadcastChannel('isolated');
  await new Promise<void>((resolve) => {
    channel.onmessage = (event: unknown) => {
      if ((event as { readonly data: unknown }).data === word) resolve();
    };
  });
  channel.close();
}

/** On a connection that is not the queue's. */
async function inOwnTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  const url = process.env['ISOLATED_URL'] ?? '';
  if (!onPostgres) {
    const connection = await createConnection(url);
    await connection.beginTransaction();
    const done = await work(fromMysql2(connection));
    await connection.commit();
    await connection.end();
    return done;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  const done = await work(client);
  await client.query('commit');
  await client.end();
  return done;
}

/** Says and returns more than is kept; between the two it waits until it is told to stop. */
async function tooMuch(ctx: TaskContext): Promise<object> {
  const told = new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  ctx.progress('é'.repeat(600));
  await told;
  return { text: 'x'.repeat(2_000_000) };
}

const here = (): object => ({ isMainThread, threadId });

@Injectable()
export class IsolatedHandlers {
  private reported: TaskContext | undefined;

  constructor(
    private readonly greeting: Greeting,
    private readonly queue: QueueClient,
  ) {}

  @TaskHandler('inline')
  inline(): object {
    return here();
  }

  @TaskHandler('greet', isolated)
  greet({ name }: { readonly name: string }, { task, subscription }: TaskContext): object {
    return { ...here(), greeting: this.greeting.of(name), topic: task.topic, subscription, key: task.key };
  }

  @TaskHandler('measure', isolated)
  measure({ text }: { readonly text: string }): object {
    return { ...here(), length: text.length };
  }

  @TaskHandler('parameters', isolated)
  parameters(@Payload('name') name: string, @Ctx() { task }: TaskContext): object {
    return { name, attempt: task.attempt };
  }

  @TaskHandler('guarded', isolated)
  @UseGuards(Nobody)
  guarded(): void {}

  @TaskHandler('piped', { isolate: 'thread' })
  @UsePipes(Trim)
  piped(payload: object): object {
    return { ...here(), payload };
  }

  @TaskHandler('piped inline')
  @UsePipes(Trim)
  pipedInline(payload: object): object {
    return this.piped(payload);
  }

  @TaskHandler('checked', { isolate: 'thread', schema: amount })
  checked(payload: object): object {
    return { ...here(), payload };
  }

  @TaskHandler('checked inline', { schema: amount })
  checkedInline(payload: object): object {
    return this.checked(payload);
  }

  /** Writes in its transaction, and inserts beside it. */
  @TaskHandler('write', isolated)
  async write(payload: { readonly fail?: boolean }, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    await this.queue.insertTask({ topic: 'beside' });
    await this.queue.insertTask({ topic: 'together' }, { tx: ctx.db });
    if (payload.fail) throw new Error('after the write');
  }

  @TaskHandler('client', isolated)
  async client(_: unknown, ctx: TaskContext): Promise<void> {
    const client = await ctx.client();
    await client.query(ownSql('insert into effect (task_root, attempt) values ($1, $2)'), [ctx.task.id, 1]);
  }

  @TaskHandler('fail', isolated)
  fail(payload: { readonly kind: string }): never {
    const cause = Object.assign(new TypeError('the cause'), { code: 'E_CAUSE' });
    if (payload.kind === 'hopeless') throw new UnrecoverableError('never again', { cause });
    if (payload.kind === 'value') throw 'thrown text' as unknown as Error;
    throw Object.assign(new RangeError('out of range', { cause }), { code: 'E_RANGE', status: 404 });
  }

  @TaskHandler('later', { isolate: 'thread', maxAttempts: 2 })
  later(): never {
    throw new RetryIn(3_600_000);
  }

  /** Runs until the test says `release`. */
  @TaskHandler('hold', isolated)
  async hold(_: unknown, { task }: TaskContext): Promise<object> {
    const released = hear('release');
    tell({ started: task.id, ...here() });
    await released;
    return here();
  }

  /** Says how far it is; then what ran before it here does so, too late. Runs until the test says `release`. */
  @TaskHandler('report', isolated)
  async report(_: unknown, ctx: TaskContext): Promise<void> {
    await ctx.db.query('select 1');
    const released = hear('release');
    ctx.progress(0.5);
    this.reported?.progress('late');
    this.reported = ctx;
    tell({ started: ctx.task.id, ...here() });
    await released;
  }

  @TaskHandler('too much', isolated)
  tooMuch(_: unknown, ctx: TaskContext): Promise<object> {
    return tooMuch(ctx);
  }

  /** The same as `hold` under another topic: both share the threads. */
  @TaskHandler('hold too', isolated)
  holdToo(payload: unknown, ctx: TaskContext): Promise<object> {
    return this.hold(payload, ctx);
  }

  /** Blocks its thread for ever, after it has written. */
  @TaskHandler('spin', { ...isolated, timeoutMs: limitMs })
  async spin(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    tell({ started: ctx.task.id, ...here() });
    for (;;);
  }

  /** The expression of Node's guide on its text: it would not end either. */
  @TaskHandler('match', { ...isolated, timeoutMs: limitMs })
  match(_: unknown, { task }: TaskContext): boolean {
    tell({ started: task.id, ...here() });
    return /(\/.+)+$/.test(`${'/'.repeat(100)}\n`);
  }

  /** Waits in native code until something writes into that pipe: nothing ends a thread there. */
  @TaskHandler('pipe', { ...isolated, timeoutMs: limitMs })
  pipe({ path }: { readonly path: string }, { task }: TaskContext): void {
    tell({ started: task.id, ...here() });
    readFileSync(path);
  }

  /** Blocks its server for ever. */
  @TaskHandler('sleep', { ...isolated, timeoutMs: limitMs })
  async sleep(_: unknown, { db, task }: TaskContext): Promise<void> {
    tell({ started: task.id, ...here() });
    await db.query(ownSql('select pg_sleep(3600)'));
  }

  @TaskHandler('obey', isolated)
  async obey(_: unknown, { signal, task }: TaskContext): Promise<object> {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    tell({ started: task.id, ...here() });
    await aborted;
    const { code, message } = signal.reason as { readonly code: string; readonly message: string };
    return { code, message };
  }

  /** Finishes its task in a transaction of its own, and goes on until the test says `release`. */
  @TaskHandler('finish', isolated)
  async finish(_: unknown, ctx: TaskContext): Promise<void> {
    await inOwnTransaction((tx) => ctx.completeIn(tx, 'finished'));
    const released = hear('release');
    tell({ started: ctx.task.id, ...here() });
    await released;
    tell({ started: `${ctx.task.id} to its end` });
  }

  /** Finishes its task twice. */
  @TaskHandler('finish twice', isolated)
  async finishTwice(_: unknown, ctx: TaskContext): Promise<void> {
    const again = await inOwnTransaction(async (tx) => {
      await ctx.completeIn(tx);
      return ctx.completeIn(tx).catch((error: unknown) => error);
    });
    tell({ started: (again as { readonly code?: string } | undefined)?.code ?? String(again) });
  }

  @TaskHandler('exit', isolated)
  async exit(_: unknown, ctx: TaskContext): Promise<never> {
    await leaveEffect(ctx);
    process.exit(3);
  }

  @TaskHandler('uncaught', isolated)
  async uncaught(): Promise<void> {
    setImmediate(() => {
      throw new Error('nobody catches this');
    });
    await new Promise(() => undefined);
  }

  @TaskHandler('exhaust', isolated)
  exhaust(): void {
    exhaust();
  }
}

/** The same in processes. */
@Injectable()
export class ProcessHandlers {
  constructor(private readonly queue: QueueClient) {}

  @TaskHandler('process', { isolate: 'process', maxAttempts: 1 })
  async work(
    { then }: { readonly then?: 'crash' | 'exit' | 'exhaust' | 'hold' },
    ctx: TaskContext,
  ): Promise<object> {
    await leaveEffect(ctx);
    if (then === 'crash') process.kill(process.pid, 'SIGSEGV');
    if (then === 'exit') process.exit(3);
    if (then === 'exhaust') exhaust();
    // Commits alone, so that the test sees it.
    if (then === 'hold') await this.queue.insertTask({ topic: 'holding' });
    if (then !== undefined) await new Promise((resolve) => setTimeout(resolve, 3_600_000));
    return { pid: process.pid, isMainThread };
  }

  /** Never lets the event loop run again, after a task of its own has told where. */
  @TaskHandler('process block', { isolate: 'process', maxAttempts: 1 })
  async block(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    await this.queue.insertTask({ topic: 'blocking', payload: { pid: process.pid } });
    for (;;);
  }

  @TaskHandler('process too much', { isolate: 'process', maxAttempts: 1 })
  tooMuch(_: unknown, ctx: TaskContext): Promise<object> {
    return tooMuch(ctx);
  }

  @TaskHandler('process spin', { isolate: 'process', maxAttempts: 1, timeoutMs: 3_000 })
  async spin(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    for (;;);
  }
}

@Module({ providers: [Greeting, IsolatedHandlers, ProcessHandlers, ...Object.values(twins)] })
class ProvidingModule {}

@Module({
  imports: [
    ProvidingModule,
    QueueModule.forRootAsync({
      useFactory: () => ({
        connection: process.env['ISOLATED_URL'] ?? '',
        queue: 'tasks',
        ...(JSON.parse(process.env['ISOLATED_OPTIONS'] ?? '{}') as object),
      }),
    }),
  ],
})
export class IsolatedModule {}

// Threads and processes that are started now have no application.
if (process.env['ISOLATED_BOOT'] === 'fails') throw new Error('not now');
if (process.env['ISOLATED_BOOT'] === 'never') await new Promise(() => undefined);
