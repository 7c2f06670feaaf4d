import type { Pool, PoolClient } from 'pg';
import { expect } from 'vitest';
import type { QueueCore } from '../../../lib/assembly/core.js';
import { topicRoute } from '../../../lib/storage/route.js';
import { claimAll, complete, read, type TestWorker } from '../conformance/opened.js';

export const levels = ['read committed', 'repeatable read', 'serializable'] as const;
export const steps = [
  ...levels.map((level) => `begin ${level}` as const),
  'replace within',
  'replace within',
  'replace',
  'replace',
  'claim',
  'complete',
  'commit',
  'rollback',
] as const;
export type Step = (typeof steps)[number];

/** A task of the key, as the model has it. */
interface Waiting {
  readonly id: string;
  readonly payload: string;
}

/** A transaction of the application's, which took its snapshot when it began. */
interface OpenTransaction {
  readonly level: string;
  /** What it put in place, which nobody else sees yet. */
  own: Waiting | undefined;
  /** True once something has been committed that its snapshot lacks. */
  isStale: boolean;
}

function same(found: unknown, expected: unknown): void {
  expect(found).toEqual(expected);
}

/**
 * One key, an application with one transaction at most, others that commit at once, and a worker. The model knows what waits and
 * what has started; after each step the table says the same.
 */
export class Replacing {
  /** Payloads of all tasks that were committed, by id. */
  readonly #known = new Map<string, string>();
  readonly #core: Pick<QueueCore, 'client' | 'testAccess'>;
  /** Of a connection that sees what is committed. */
  readonly #pool: Pool;
  readonly #client: PoolClient;
  readonly #worker: TestWorker;
  readonly #topic: string;
  #waiting: Waiting | undefined;
  #running: ReadonlySet<string> = new Set();
  #open: OpenTransaction | undefined;

  constructor(
    core: Pick<QueueCore, 'client' | 'testAccess'>,
    pool: Pool,
    client: PoolClient,
    worker: TestWorker,
    topic: string,
  ) {
    this.#core = core;
    this.#pool = pool;
    this.#client = client;
    this.#worker = worker;
    this.#topic = topic;
  }

  async take(step: Step, payload: string): Promise<void> {
    switch (step) {
      case 'replace within':
        return this.#replaceWithin(payload);
      case 'replace':
        return this.#replace(payload);
      case 'claim':
        return this.#claim();
      case 'complete':
        return this.#complete();
      case 'commit':
      case 'rollback':
        return this.end(step);
      default:
        return this.#begin(step.slice('begin '.length));
    }
  }

  /** Ends the transaction: a commit that is refused has done nothing. */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    const isDone = await this.#client.query(how).then(
      () => how === 'commit',
      (error: unknown) => this.#refused(error, open),
    );
    if (isDone && open.own) this.#commit(open.own);
    await this.#agree();
  }

  async #begin(level: string): Promise<void> {
    if (this.#open) return;
    await this.#client.query(`begin isolation level ${level}`);
    await this.#client.query('select count(*) from tasks where processo = $1', [this.#topic]);
    this.#open = { level, own: undefined, isStale: false };
  }

  async #replaceWithin(payload: string): Promise<void> {
    const open = this.#open;
    if (!open) return;
    try {
      const id = await this.#core.client.insertTask(this.#task(payload), { tx: this.#client });
      this.#mustBe(id, open.own ?? this.#waiting);
      open.own = { id, payload };
    } catch (error) {
      this.#refused(error, open);
      this.#open = undefined;
      await this.#client.query('rollback');
    }
    await this.#agree();
  }

  /** Of another session. It would wait for a transaction that has the key. */
  async #replace(payload: string): Promise<void> {
    if (this.#open?.own) return;
    const id = await this.#core.client.insertTask(this.#task(payload));
    this.#mustBe(id, this.#waiting);
    this.#commit({ id, payload });
    await this.#agree();
  }

  /** What a transaction has put in place, or in the place of another, is not there to be taken. */
  async #claim(): Promise<void> {
    const claimed = await claimAll(this.#worker, [topicRoute(this.#topic)]);
    const taken = this.#waiting && !this.#open?.own ? [this.#waiting] : [];
    same(
      claimed.map(({ id, payload }) => ({ id, payload })),
      taken,
    );
    if (taken.length === 0) return;
    this.#running = new Set([...this.#running, ...claimed.map(({ id }) => id)]);
    this.#waiting = undefined;
    if (this.#open) this.#open.isStale = true;
  }

  async #complete(): Promise<void> {
    const [id] = this.#running;
    if (id === undefined) return;
    await complete(this.#worker, { id, reservation: 1 });
    this.#running = new Set([...this.#running].filter((one) => one !== id));
    if (this.#open) this.#open.isStale = true;
    same((await read(this.#core.testAccess(), id)).status, 'succeeded');
  }

  #task(payload: string) {
    const unique = { key: this.#topic, while: 'pending', onConflict: 'replace' } as const;
    return { topic: this.#topic, payload, unique };
  }

  #mustBe(id: string, waiting: Waiting | undefined): void {
    if (waiting) same(id, waiting.id);
    else same(this.#known.has(id), false);
  }

  #commit(task: Waiting): void {
    this.#waiting = task;
    this.#known.set(task.id, task.payload);
    if (this.#open) this.#open.isStale = true;
  }

  /** Only what has seen too little is refused, and only where the level promises more than the latest. */
  #refused(error: unknown, { level, isStale }: OpenTransaction): false {
    same((error as { readonly code?: string }).code, '40001');
    same({ isStale, sees: level === 'read committed' }, { isStale: true, sees: false });
    return false;
  }

  /** Everybody else sees what was committed, and nothing else. */
  async #agree(): Promise<void> {
    const { rows } = await this.#pool.query<{ id: string; payload: string }>(
      'select id, payload from tasks where processo = $1 order by id',
      [this.#topic],
    );
    same(
      rows,
      [...this.#known].map(([id, payload]) => ({ id, payload })),
    );
  }
}
