import { setTimeout as delay } from 'node:timers/promises';
import type { ResolvedSharedServer } from '../../options/shared-server.js';
import { Backoff } from '../../timing/backoff.js';
import { holdCall, joinedCall } from './calls.js';
import { ServerLink } from './server-link.js';

/** The lock of the notify job of nsj-queue-lib, which is that of task 3 as well. */
const notifyJob = '3';
/** The server reads one message at a time: a call behind the answer to NOTIFY would be taken for a part of it. */
const restMs = 250;
/** How often a change asks for the lock of the notify job. */
const turnAgainMs = 100;
/** How often one that the server does not hear yet asks through the lock port, as workers of nsj-queue-lib do. */
const briefEveryMs = 15_000;

/**
 * Locks of tasks in the server that workers of nsj-queue-lib lock in as well. Our server hears whoever says that it has joined. Theirs
 * hears a worker from NOTIFY until it says that it sleeps, and this one never says so. So it can lock whenever it finds something.
 *
 * What it holds is free as soon as its connection is gone, as when the server is restarted. Our server gives others no locks until all
 * workers have joined, and each locks what it runs before it joins: so nobody else gets that. Theirs gives it to whoever asks first.
 *
 * While a worker says nothing for as long as a message may take, that server handles its last call again, and answers it again. So
 * there is a call in time that does no harm, and whoever comes too late for it connects again.
 */
export class ServerLocks {
  readonly #server: ResolvedSharedServer;
  /** Told, once each time, that nothing can be locked, and that it can again (undefined). */
  readonly #changed: (problem: string | undefined) => void;
  readonly #backoff = new Backoff({ firstMs: 200, mostMs: 5_000 });
  /** While the connection is lost: what is locked again once it is back. */
  readonly #held = new Set<string>();
  /** Once the server hears it. */
  #link: ServerLink | undefined;
  #connecting: ServerLink | undefined;
  #stay: Promise<void> | undefined;
  #isClosed = false;
  #problem: string | undefined;
  #askedBrieflyAt = performance.now();

  constructor(server: ResolvedSharedServer, changed: (problem: string | undefined) => void) {
    this.#server = server;
    this.#changed = changed;
  }

  /** Connects, now and after each loss, as that worker. */
  join(workerId: string): void {
    this.#stay ??= this.#stayJoined(joinedCall(workerId));
  }

  /** Whether tasks can be locked now. */
  get isJoined(): boolean {
    return this.#link !== undefined;
  }

  /** Takes the locks of tasks; returns those that it got. */
  async take(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const got = new Set<string>();
    for (const id of ids) if (await this.#try(id)) got.add(id);
    return got;
  }

  /** Gives back the locks of all others, and takes those that are missing; false when somebody else has one of these. */
  async keep(ids: readonly string[]): Promise<boolean> {
    const wanted = new Set(ids);
    for (const id of [...this.#held].filter((one) => !wanted.has(one))) {
      await this.#joined?.call(releaseCall(id)).catch(() => undefined);
      this.#held.delete(id);
    }
    const missing = ids.filter((id) => !this.#held.has(id));
    return (await this.take(missing)).size === missing.length;
  }

  /**
   * Does work while the notify job of nsj-queue-lib does not run; undefined, and nothing is done, where it does or cannot be asked. Their
   * server keeps for ever what a process has locked through the other port that is killed there: so that is asked seldom.
   */
  async inTurn<T>(work: () => Promise<T>): Promise<T | undefined> {
    const joined = this.#joined;
    if (joined) return this.#under(joined, work);
    if (performance.now() - this.#askedBrieflyAt < briefEveryMs) return undefined;
    this.#askedBrieflyAt = performance.now();
    return this.#briefly(work);
  }

  /** {@link inTurn} at once, which waits for the job; undefined, and nothing is done, when that takes longer. */
  async waitInTurn<T>(work: () => Promise<T>, waitMs: number): Promise<{ readonly result: T } | undefined> {
    const whole = async (): Promise<{ readonly result: T }> => ({ result: await work() });
    for (const until = performance.now() + waitMs; performance.now() < until; await delay(turnAgainMs)) {
      const joined = this.#joined;
      const done = await (joined ? this.#under(joined, whole) : this.#briefly(whole));
      if (done) return done;
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.cancel();
    this.#connecting?.cut('it was closed');
    await this.#stay;
  }

  /** One that came too late for its last call may hear an answer twice. */
  get #joined(): ServerLink | undefined {
    const link = this.#link;
    if (link && link.silentMs > this.#server.messageTimeoutMs * 0.8)
      link.cut('this process was stalled for too long');
    return this.#link;
  }

  async #briefly<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { host, lockPort: port, messageTimeoutMs } = this.#server;
    const link = await ServerLink.open({ host, port, messageTimeoutMs }).catch(() => undefined);
    if (!link) return undefined;
    try {
      return await this.#under(link, work);
    } finally {
      // Their server forgets the wrong connection of a computer when one says that it closes.
      link.cut('it is no longer needed');
    }
  }

  async #under<T>(link: ServerLink, work: () => Promise<T>): Promise<T | undefined> {
    if (!(await link.call(tryLockCall(notifyJob)).catch(() => false))) return undefined;
    try {
      return await work();
    } finally {
      await link.call(releaseCall(notifyJob)).catch(() => undefined);
    }
  }

  async #try(id: string): Promise<boolean> {
    const link = this.#joined;
    const got = (await link?.call(tryLockCall(id)).catch(() => false)) ?? false;
    if (!got || link !== this.#link) return false;
    this.#held.add(id);
    return true;
  }

  async #stayJoined(joined: string): Promise<void> {
    while (!this.#isClosed) {
      const why = await this.#stayConnected(joined);
      if (this.#isClosed) return;
      this.#tell(why);
      await this.#backoff.wait();
    }
  }

  /** Returns why it has ended. Our server is asked through the lock port, where it hears everybody. */
  async #stayConnected(joined: string): Promise<string> {
    const { notifyPort, lockPort, messageTimeoutMs } = this.#server;
    let timer: NodeJS.Timeout | undefined;
    try {
      let server = await this.#connect(lockPort);
      if (await server.link.call(holdCall())) {
        await this.#lockAgain(server.link, holdCall);
      } else {
        server.link.cut('it is the server of nsj-queue-lib');
        server = await this.#connect(notifyPort);
        const why = await Promise.race([server.notified, server.gone]);
        if (why !== undefined) return why;
        server.link.tell('TRUE');
        await delay(restMs);
        await this.#lockAgain(server.link, tryLockCall);
      }
      await server.link.call(joined);
      this.#link = server.link;
      timer = setInterval(() => void this.#say(joined), messageTimeoutMs / 5);
      this.#backoff.reset();
      this.#tell(undefined);
      return await server.gone;
    } catch (error) {
      return (error as Error).message;
    } finally {
      clearInterval(timer);
      this.#link = this.#connecting = undefined;
    }
  }

  async #connect(port: number): Promise<{
    readonly link: ServerLink;
    readonly notified: Promise<undefined>;
    readonly gone: Promise<string>;
  }> {
    const { host, messageTimeoutMs } = this.#server;
    const use: { notified?: () => void; gone?: (why: string) => void } = {};
    const notified = new Promise<undefined>((heard) => (use.notified = () => heard(undefined)));
    const gone = new Promise<string>((ended) => (use.gone = ended));
    const link = await ServerLink.open({ host, port, messageTimeoutMs }, use);
    this.#connecting = link;
    if (this.#isClosed) link.cut('it was closed');
    return { link, notified, gone };
  }

  /** What somebody else has locked meanwhile is asked for again by {@link keep}. */
  async #lockAgain(link: ServerLink, callOf: (id: string) => string): Promise<void> {
    for (const id of [...this.#held]) {
      const got = await link.call(callOf(id));
      if (!got) this.#held.delete(id);
      // It has ended meanwhile.
      else if (!this.#held.has(id)) await link.call(releaseCall(id));
    }
  }

  async #say(joined: string): Promise<void> {
    const link = this.#joined;
    if (link && !link.isBusy) await link.call(joined).catch(() => undefined);
  }

  #tell(problem: string | undefined): void {
    const isNew = (problem === undefined) !== (this.#problem === undefined);
    this.#problem = problem;
    if (isNew) this.#changed(problem);
  }
}

function tryLockCall(id: string): string {
  return `try_lock(${id})`;
}

function releaseCall(id: string): string {
  return `release_lock(${id})`;
}
