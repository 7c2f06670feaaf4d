import type { Connection, ConnectionOptions } from 'mysql2';
import { Backoff } from '../../../timing/backoff.js';
import type { HearingChanged } from '../../../coordination/session.js';
import { within } from '../../../timing/deadline.js';
import { readBoolean } from '../../columns.js';
import { isConnectionError } from '../mysql-errors.js';
import { connectWithin, withAnswerLimit } from './answer-limit.js';
import { ask } from './answers.js';
import { commonSettings } from './mysql-config.js';
import type { Mysql2 } from './mysql-package.js';
import { sleeperPlaces } from './sleeper-places.js';

/** One night: what is left of a process that is gone sleeps no longer. */
const sleepSeconds = 15;
/** An answer that takes longer than its sleep and that will not come. */
const answerMs = 5_000;
/** How long its goodbye may take. */
const goodbyeMs = 1_000;
/** How soon it is interrupted again that has not ended. */
const againMs = 100;
/** Failures in a row after some ten seconds. */
const lastingFailures = 8;
/** Number of the error with which a statement ends that was killed. */
const interrupted = 1317;
/** What the statement answers that would sleep on a server which only reads. */
const onReader = '2';

/**
 * One night. Who sleeps on a server that only reads is woken by nobody: those who write are on another one, which may have taken its
 * place.
 */
const sleeping = `-- name: sleep
select if(@@global.read_only in ('0', 'OFF'), sleep(${sleepSeconds}), ${onReader}) as woken`;

const settings = `${commonSettings};
set session wait_timeout = 30 /*!80000 , max_execution_time = 0 */ /*M!100000 , max_statement_time = 0 */`;

export interface SleeperParts {
  readonly mysql: Mysql2;
  readonly config: ConnectionOptions;
  /** What the names of the places begin with. */
  readonly prefix: string;
  /** Ends the statement of a session, by another connection. */
  readonly interrupt: (sessionId: string) => Promise<void>;
  /** It was woken, or may have been while it had no connection. */
  readonly woken: () => void;
  /** It cannot fall asleep, or can again. */
  readonly changed: HearingChanged;
}

/**
 * A session that sleeps until another one kills its statement: how MySQL can wake a process. It holds a lock whose name says that
 * it sleeps, and by which its id is found: ids in a table would outlive it, and belong to others after a restart of the server.
 */
export class Sleeper {
  readonly #parts: SleeperParts;
  readonly #backoff = new Backoff({ firstMs: 100, mostMs: 30_000 });
  #connection: Connection | undefined;
  #sessionId: string | undefined;
  /** How many times in a row it could not fall asleep. */
  #failures = 0;
  /** True once that is told. */
  #isTold = false;
  #loop: Promise<void> | undefined;
  #stopped = false;
  /** Rejects once nothing more is to be waited for. */
  readonly #abandoned: Promise<never>;
  #abandon: () => void = () => undefined;

  constructor(parts: SleeperParts) {
    this.#parts = parts;
    this.#abandoned = new Promise((_, reject) => {
      this.#abandon = () => reject(new Error('the sleeper was stopped'));
    });
    this.#abandoned.catch(() => undefined);
  }

  /** The server's id of its connection; undefined while it has none. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** Falls asleep; resolves also where that has failed, because it is tried again. Without it a poll finds what is new. */
  start(): Promise<void> {
    return new Promise((tried) => {
      this.#loop = this.#run(tried).finally(() => (this.#loop = undefined));
    });
  }

  /** Gives its place up. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#backoff.cancel();
    const loop = this.#loop ?? Promise.resolve();
    const began = performance.now();
    // Again, because it may be falling asleep. A session whose connection is cut sleeps on, and takes rings for others.
    do {
      const id = this.#sessionId;
      if (id !== undefined) {
        const asked = this.#parts.interrupt(id).catch(() => undefined);
        await within(asked, goodbyeMs);
      }
      await within(loop, againMs);
    } while (this.#loop && performance.now() - began < goodbyeMs);
    this.#connection?.destroy();
    this.#abandon();
    await loop;
  }

  async #run(tried: () => void): Promise<void> {
    for (let nights = 0; !this.#stopped; nights += 1) {
      try {
        const connection = await this.#open().catch((error: unknown) => this.#failed(error));
        this.#backoff.reset();
        this.#failures = 0;
        if (this.#isTold) this.#parts.changed(undefined);
        this.#isTold = false;
        tried();
        await this.#sleepOn(connection, nights > 0);
      } catch {
        tried();
      }
      this.#sessionId = undefined;
      this.#connection?.destroy();
      if (!this.#stopped) await this.#backoff.wait();
    }
  }

  /** Told once, until it is asleep again; of a server that cannot be reached only when that lasts, as others tell of it too. */
  #failed(error: unknown): never {
    this.#failures += 1;
    const isWorthTelling = !isConnectionError(error) || this.#failures >= lastingFailures;
    if (isWorthTelling && !this.#isTold && !this.#stopped) {
      this.#isTold = true;
      this.#parts.changed(error);
    }
    throw error;
  }

  async #open(): Promise<Connection> {
    const { mysql, config, prefix } = this.#parts;
    const connection = mysql.createConnection({ ...config, connectTimeout: answerMs });
    this.#connection = connection;
    // Told by the statement that fails of it.
    connection.on('error', () => undefined);
    await connectWithin(connection, answerMs);
    const run = (text: string, values: readonly unknown[] = []) =>
      withAnswerLimit(connection, ask(connection, text, values), answerMs);
    const session = (
      await run(
        `${settings}; select connection_id() as id, @@global.read_only not in ('0', 'OFF') as is_reader`,
      )
    ).at(-1);
    const { id, is_reader: isReader = null } = session?.rows[0] ?? {};
    if (readBoolean(isReader)) throw new Error('the server is read-only');
    await takePlace(run, prefix);
    this.#sessionId = id ?? undefined;
    return connection;
  }

  /** Sleeps until it is stopped or its connection is lost. */
  async #sleepOn(connection: Connection, wasAway: boolean): Promise<void> {
    let wasWoken = wasAway;
    while (!this.#stopped) {
      // It is asleep again before anybody hears of it: who looks then finds what a ring was for that came in between.
      const sleep = this.#sleep(connection);
      if (wasWoken) this.#parts.woken();
      wasWoken = await sleep;
    }
    await within(new Promise<void>((resolve) => connection.end(() => resolve())), goodbyeMs);
  }

  /** True when it was woken. Some servers answer that they were, others fail. */
  async #sleep(connection: Connection): Promise<boolean> {
    try {
      const mostMs = sleepSeconds * 1_000 + answerMs;
      const [answer] = await Promise.race([
        withAnswerLimit(connection, ask(connection, sleeping), mostMs),
        this.#abandoned,
      ]);
      const woken = answer?.rows[0]?.['woken'];
      if (woken === onReader) throw new Error('the server is read-only');
      return readBoolean(woken);
    } catch (error) {
      if ((error as { readonly errno?: unknown }).errno === interrupted) return true;
      throw error;
    }
  }
}

type Run = (text: string, values: readonly unknown[]) => ReturnType<typeof ask>;

/** Takes a lock of those that wakers look at. */
async function takePlace(run: Run, prefix: string): Promise<void> {
  const [free] = await run(sleeperPlaces('is_free_lock(concat(?, place.n)) = 1'), [prefix]);
  for (const { n } of free?.rows ?? []) {
    const [taken] = await run('select get_lock(?, 0) as got', [prefix + String(n)]);
    if (readBoolean(taken?.rows[0]?.['got'])) return;
  }
  throw new Error('the most processes that can be woken are already asleep');
}
