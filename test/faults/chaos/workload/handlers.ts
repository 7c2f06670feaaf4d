import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  DeadTaskHandler,
  QueueClient,
  Subscriber,
  TaskHandler,
  type SqlHandle,
  type TaskContext,
} from '../../../../lib/index.js';
import type { ClientPool, WorkGround } from '../ground/clients.js';
import { HistoryWriter, now } from '../history.js';

/** What a task of the workload asks for. */
export interface Work {
  readonly ms?: number;
  /** Fails until this attempt is over. */
  readonly failures?: number;
  /** Ends the process until this attempt is over. */
  readonly kills?: number;
  readonly how?: 'exit' | 'kill' | 'loop';
}

/** What handlers write to and work with. */
export class WorkBench {
  constructor(
    readonly name: string,
    readonly history: HistoryWriter,
    readonly work: WorkGround,
    readonly clients: ClientPool,
    readonly tell: (message: object) => Promise<void>,
  ) {}

  /** Attempts this process has started. */
  started = 0;
  /** Handlers that hold a connection of the queue's pool, and those that wait for one. */
  readonly holding = { open: 0, waiting: 0 };
}

const rules = { maxAttempts: 60, retryDelayMs: 100 };

/** Handlers of every kind of task. */
@Injectable()
export class Handlers {
  constructor(
    private readonly bench: WorkBench,
    private readonly queue: QueueClient,
  ) {}

  @TaskHandler('transaction', rules)
  transaction(work: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, async () => {
      await this.#leaveEffect(ctx, ctx.db);
      await behave(work, ctx);
    });
  }

  @TaskHandler('plain', rules)
  plain(work: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, () => behave(work, ctx));
  }

  @TaskHandler('doomed', { maxAttempts: 3, retryDelayMs: 100 })
  doomed(_: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, async () => {
      await this.#leaveEffect(ctx, ctx.db);
      throw new Error('this task always fails');
    });
  }

  @DeadTaskHandler('doomed', rules)
  doomedGaveUp(_: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, () => this.#leaveEffect(ctx, ctx.db));
  }

  /** Ends the task in a transaction of its own. */
  @TaskHandler('elsewhere', rules)
  elsewhere(work: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, async () => {
      const client = await this.bench.clients.connect();
      let failed: Error | undefined;
      try {
        await client.query('begin');
        await this.#leaveEffect(ctx, client);
        await behave(work, ctx);
        await ctx.completeIn(client);
        await client.query('commit');
      } catch (error) {
        failed = error as Error;
        throw error;
      } finally {
        // A connection on which anything failed is closed: that rolls back.
        client.release(failed);
      }
    });
  }

  /** Ends its process some times. */
  @TaskHandler('killer', rules)
  killer(work: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, async () => {
      await this.#leaveEffect(ctx, ctx.db);
      if (ctx.task.attempt <= (work.kills ?? 0)) await this.#endProcess(work);
    });
  }

  @DeadTaskHandler('killer', rules)
  killerGaveUp(_: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, () => this.#leaveEffect(ctx, ctx.db));
  }

  /** Holds a connection of the pool for a while, and inserts a task meanwhile. */
  @TaskHandler('hog', rules)
  hog({ ms = 0 }: Work, ctx: TaskContext): Promise<void> {
    return this.#record(ctx, async () => {
      this.bench.holding.waiting += 1;
      try {
        await this.#leaveEffect(ctx, ctx.db);
      } finally {
        this.bench.holding.waiting -= 1;
      }
      this.bench.holding.open += 1;
      try {
        await this.#insertAnother(ctx);
        await pause(ms);
      } finally {
        this.bench.holding.open -= 1;
      }
    });
  }

  /** What comes from another program: nobody judges it but by whether it ends. */
  @TaskHandler('hostile', { maxAttempts: 3, retryDelayMs: 100 })
  hostile(): void {
    this.bench.started += 1;
  }

  @Subscriber('news-effect', rules)
  @Subscriber('orders-effect', rules)
  @Subscriber('orders-one', rules)
  @Subscriber('orders-one-more', rules)
  @Subscriber('orders-two', rules)
  delivery(work: Work, ctx: TaskContext): Promise<void> {
    return this.transaction(work, ctx);
  }

  @Subscriber('orders-one-flaky', rules)
  flakyDelivery(_: Work, ctx: TaskContext): Promise<void> {
    return this.transaction({ failures: 1 }, ctx);
  }

  @Subscriber('news-plain', rules)
  @Subscriber('orders-plain', rules)
  plainDelivery(work: Work, ctx: TaskContext): Promise<void> {
    return this.plain(work, ctx);
  }

  /** Writes down when the handler starts and ends. */
  async #record(ctx: TaskContext, work: () => Promise<void>): Promise<void> {
    const { id, firstAttemptId: root, attempt, dead, origin } = ctx.task;
    const { history } = this.bench;
    const { pid } = process;
    this.bench.started += 1;
    history.write({ event: 'start', key: origin ?? '', id, root, attempt, dead, pid, at: now().at });
    try {
      await work();
    } finally {
      history.write({ event: 'end', id, pid, at: now().at });
    }
  }

  async #leaveEffect({ task }: TaskContext, db: SqlHandle): Promise<void> {
    const { name: worker, work, history } = this.bench;
    const { firstAttemptId: root, attempt, dead, origin: key } = task;
    const transaction = await work.writeEffect(db, { root, attempt, dead, key, worker });
    history.write({ event: 'transaction', id: task.id, ...transaction });
  }

  async #endProcess({ how }: Work): Promise<void> {
    if (how === 'exit') process.exit(9);
    if (how === 'kill') process.kill(process.pid, 'SIGKILL');
    // Whoever hears this kills the process, which can do nothing more itself.
    await this.bench.tell({ type: 'looping' });
    for (;;);
  }

  async #insertAnother({ task }: TaskContext): Promise<void> {
    const { history } = this.bench;
    const key = `${task.origin}/${task.attempt}`;
    history.write({ event: 'attempted', key, kind: 'inserted by hog', ...now() });
    try {
      await this.queue.insertTask({ topic: 'plain', origin: key, payload: { ms: 0 } });
      history.write({ event: 'acked', key, ...now() });
    } catch (error) {
      history.write({ event: 'unknown', key, error: String(error) });
      throw error;
    }
  }
}

async function behave({ ms = 0, failures = 0 }: Work, { task }: TaskContext): Promise<void> {
  if (ms > 0) await pause(ms);
  if (task.attempt <= failures) throw new Error(`attempt ${task.attempt} of ${failures} that fail`);
}
