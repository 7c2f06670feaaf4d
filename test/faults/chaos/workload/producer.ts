import { setTimeout as pause } from 'node:timers/promises';
import type { TaskInput } from '../../../../lib/index.js';
import type { ClientPool, QueueConnection, WorkGround } from '../ground/clients.js';
import { now, type HistoryWriter } from '../history.js';
import type { Random } from '../prng.js';
import { publicationShare, subscriptions, taskKinds, type TaskKind } from './kinds.js';

/** What a producer works with. */
export interface ProducerParts {
  /** Through a proxy: producers see the same faults as workers. */
  readonly url: string;
  readonly work: WorkGround;
  /** Straight to the database: what faults insert. */
  readonly clients: ClientPool;
  readonly history: HistoryWriter;
  readonly random: Random;
  /** Tasks that wait or run now: while there are too many nothing is inserted. */
  readonly backlog: () => number;
}

/** Faults have to meet tasks that run, and those that faults insert must not wait behind thousands of others. */
const mostWaiting = 400;

interface Planned {
  readonly key: string;
  readonly kind: string;
  readonly input: TaskInput & { readonly topic: string };
  /** Undefined when it is no publication. */
  readonly subscriptions?: readonly string[];
}

/**
 * Inserts tasks of all kinds, and writes down which it tried, which were acknowledged, which certainly not, and
 * of which it cannot know. It never tries a task again: the workload must not hide what the queue loses.
 */
export class Producer {
  readonly #parts: ProducerParts;
  readonly #pool: ClientPool;
  #number = 0;
  #running: Promise<unknown> | undefined;
  #stopped = false;

  constructor(parts: ProducerParts) {
    this.#parts = parts;
    this.#pool = parts.work.openClients({
      url: parts.url,
      name: 'producer',
      max: 4,
      connectMs: 3_000,
      answerMs: 8_000,
    });
  }

  /** @param perSecond tasks, publications counted once */
  start(perSecond: number): void {
    const lanes = 3;
    this.#running = Promise.all(Array.from({ length: lanes }, () => this.#run(perSecond / lanes)));
    // Told by `stop`.
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    try {
      await this.#running;
    } finally {
      await this.#pool.end();
    }
  }

  /** One task that a fault inserts, before all others; returns its key. */
  async insert(kind: string, payload: object, delayMs?: number): Promise<string> {
    const found = taskKinds.find(({ name }) => name === kind);
    if (!found) throw new Error(`there is no kind of task called ${kind}`);
    const input = { topic: found.topic, payload, priority: 90, ...(delayMs !== undefined && { delayMs }) };
    const planned = { ...this.#planTask(found), input };
    const client = await this.#parts.clients.connect();
    await this.#attempt(client, [planned], () => this.#insertAll(client, [planned]));
    return planned.key;
  }

  async #run(perSecond: number): Promise<void> {
    const { random, backlog } = this.#parts;
    while (!this.#stopped) {
      const started = performance.now();
      const size = backlog() > mostWaiting ? 0 : await this.#produce();
      const due = (Math.max(size, 1) / perSecond) * 1_000 * (0.5 + random.next());
      await pause(Math.max(0, due - (performance.now() - started)));
    }
  }

  /** One insert of one of the ways there are; returns how many tasks it had. */
  async #produce(): Promise<number> {
    const { random } = this.#parts;
    const client = await this.#pool.connect().catch(() => undefined);
    if (!client) {
      await pause(100);
      return 0;
    }
    const way = random.next();
    if (way < 0.3) {
      const batch = Array.from({ length: random.whole(2, 12) }, () => this.#plan(false));
      return this.#attempt(client, batch, () => this.#insertAll(client, batch));
    }
    const some = Array.from({ length: way < 0.6 ? random.whole(1, 4) : 1 }, () => this.#plan(true));
    if (some.length === 1) return this.#attempt(client, some, () => this.#insertAll(client, some));
    return this.#attempt(client, some, () => this.#inTransaction(client, some), true);
  }

  /** Writes down how an insert ended. */
  async #attempt(
    client: QueueConnection,
    planned: readonly Planned[],
    insert: () => Promise<'done' | 'rolled back'>,
    inTransaction = false,
  ): Promise<number> {
    const { history } = this.#parts;
    for (const { key, kind, input, subscriptions: expected } of planned) {
      history.write({
        event: 'attempted',
        key,
        kind,
        ...(expected === undefined ? {} : { subscriptions: expected }),
        ...(typeof input.delayMs === 'number' ? { delayMs: input.delayMs } : {}),
        wall: now().wall,
      });
    }
    try {
      const outcome = await insert();
      client.release();
      for (const { key } of planned) {
        if (outcome === 'done') history.write({ event: 'acked', key, wall: now().wall });
        else history.write({ event: 'refused', key, error: 'rolled back by its producer' });
      }
    } catch (error) {
      client.release(error as Error);
      const isCertain = error instanceof Uncommitted || (!inTransaction && this.#pool.isRefusal(error));
      for (const { key } of planned) {
        history.write({ event: isCertain ? 'refused' : 'unknown', key, error: String(error) });
      }
      await pause(50);
    }
    return planned.length;
  }

  async #insertAll({ queue }: QueueConnection, planned: readonly Planned[]): Promise<'done'> {
    const [first] = planned;
    if (first && planned.length === 1) {
      const task = withKey(first);
      await (first.subscriptions ? queue.insertTaskPubSub(task) : queue.insertTask(task));
    } else {
      await queue.insertTasks(planned.map(withKey));
    }
    return 'done';
  }

  /** The transaction of an application; now and then it changes its mind. */
  async #inTransaction(
    client: QueueConnection,
    planned: readonly Planned[],
  ): Promise<'done' | 'rolled back'> {
    const changesItsMind = this.#parts.random.chance(0.05);
    try {
      await client.query('begin');
      for (const one of planned) await this.#insertAll(client, [one]);
    } catch (cause) {
      // COMMIT was never sent.
      throw new Uncommitted(String(cause), { cause });
    }
    if (changesItsMind) {
      await client.query('rollback').catch((cause: unknown) => {
        throw new Uncommitted(String(cause), { cause });
      });
      return 'rolled back';
    }
    await client.query('commit');
    return 'done';
  }

  #plan(publications: boolean): Planned {
    const { random } = this.#parts;
    const all = taskKinds.reduce((sum, { share }) => sum + share, 0);
    let at = random.next() * (all + (publications ? publicationShare * 2 : 0));
    const kind = taskKinds.find(({ share }) => (at -= share) < 0);
    return kind ? this.#planTask(kind) : this.#planPublication();
  }

  #planTask(kind: TaskKind): Planned {
    const { random } = this.#parts;
    const delayMs = kind.delayMs?.(random);
    return {
      key: this.#nextKey(),
      kind: kind.name,
      input: {
        topic: kind.topic,
        payload: kind.payload?.(random) ?? {},
        priority: random.chance(0.1) ? 70 : 50,
        ...(delayMs === undefined ? {} : { delayMs }),
      },
    };
  }

  #planPublication(): Planned {
    const { random } = this.#parts;
    const topic = random.chance(0.5) ? 'news' : 'orders';
    const tenant = random.pick([undefined, 1, 2]);
    return {
      key: this.#nextKey(),
      kind: 'publication',
      input: { topic, payload: { ms: 0 }, ...(tenant === undefined ? {} : { tenant: String(tenant) }) },
      subscriptions: subscriptions
        .filter((one) => one.topic === topic && (one.tenant === null || one.tenant === tenant))
        .map(({ id }) => id),
    };
  }

  #nextKey(): string {
    this.#number += 1;
    return `task-${this.#number}`;
  }
}

/** The transaction failed before its COMMIT was sent. */
class Uncommitted extends Error {}

/** The key travels in a column that attempts, copies and dead chains keep. */
function withKey({ key, input }: Planned): TaskInput & { readonly topic: string } {
  return { ...input, origin: key };
}
