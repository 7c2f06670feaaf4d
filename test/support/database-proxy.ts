import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import type { TestDatabase } from './database.js';
import { ProxiedConnection, type Direction, type Passing, type Verdict } from './proxied-connection.js';
import { deferred } from './waiting.js';

/**
 * A network between a worker and its database that can be measured and broken. A fault concerns the connections
 * whose `application_name` ends like `purpose`: `control`, `pool`, `spare`, `session`; all when it is empty. Faults
 * add up, the last one first; each says what it has touched.
 */
export interface DatabaseProxy {
  /** Address of the database through this proxy. */
  readonly url: string;
  /** Bytes that the database has sent through it so far. */
  readonly received: number;
  /** Connections that are open now. */
  count(purpose?: string): number;
  /**
   * Keeps back what the database answers: it has done its work, and the worker does not know yet.
   */
  holdAnswers(purpose: string): HeldAnswers;
  /** From now on nothing gets through, and nobody is told: as when a firewall forgets a connection. */
  silence(purpose?: string): Fault;
  /** Nothing gets through any more on the connections that are open; new ones work. */
  forget(purpose?: string): Fault;
  /** Nothing gets through for a while; all of it does when the fault is lifted. */
  stall(purpose?: string): Fault;
  /** Everything comes later, either way. */
  delay(ms: number, purpose?: string): Fault;
  /** Breaks the connections that are open with a TCP reset; returns how many. */
  reset(purpose?: string): number;
  /** Tells one side of the open connections that the other has closed them, which then hears nothing more. */
  halfClose(told: 'worker' | 'database', purpose?: string): Fault;
  /** Every connection ends after so many more bytes from the database. */
  cutAfter(bytes: number, purpose?: string): Fault;
  /** Swallows what the server says at one point. */
  swallow(what: Swallowed): Fault;
  /** Answers PostgreSQL's statements that begin like that with an error, as a proxy does that has no notion of them. */
  refuse(what: RefusedStatement): Fault;
  /** PostgreSQL speaks another language: the texts of its errors and notices are others. */
  translate(): Fault;
  /** Swallows what the server answers to a text, whatever its protocol. */
  loseAnswer(what: LostAnswer): Fault;
  /** Lifts all faults. Connections that were silent stay so: what they have lost is not sent again. */
  pass(): void;
  close(): Promise<void>;
}

/** What a fault has touched so far. */
export interface Fault {
  readonly hits: { readonly connections: number; readonly bytes: number; readonly messages: number };
  /** Resolves when it has touched something. */
  readonly hit: Promise<void>;
  /** Ends it. What was kept back goes through now. */
  lift(): void;
}

export interface HeldAnswers {
  /** Resolves when there is an answer to keep back. */
  readonly answered: Promise<void>;
  /** Lets them through. */
  release(): void;
}

/** A message of the server that does not arrive. */
export interface Swallowed {
  readonly purpose: string;
  /** Its letter: `C` CommandComplete, `D` DataRow. */
  readonly message: 'C' | 'D';
  /** What a CommandComplete says, such as `COMMIT` or `UPDATE 1`; it begins like that. */
  readonly tag?: string;
  /** What a DataRow holds, within its first kilobyte. */
  readonly holding?: string;
  /**
   * What else happens: `nothing`, so that only this message is missing; the rest of the `answer` is missing too;
   * the connection falls `silent`; it is `cut`.
   */
  readonly then: 'nothing' | 'answer' | 'silent' | 'cut';
  /** How many times; default: once. */
  readonly times?: number;
}

/** An answer of the server that does not arrive. */
export interface LostAnswer {
  readonly purpose: string;
  /** What the text has in it that is answered. */
  readonly to: string;
  /** What else happens: the connection is `cut`, or falls `silent`. */
  readonly then: 'silent' | 'cut';
}

/** A statement that does not arrive, but is answered. */
export interface RefusedStatement {
  readonly purpose: string;
  /** What its text begins with; it is sent alone, without parameters. */
  readonly beginning: string;
  /** SQLSTATE and message of the error. */
  readonly code: string;
  readonly message: string;
}

/** Starts a proxy in front of the server of a database, on a free port of 127.0.0.1. New connections go where the address leads then. */
export async function startProxy(to: Pick<TestDatabase, 'url'>): Promise<DatabaseProxy> {
  const { url } = to;
  const speaksInMessages = new URL(url).protocol !== 'mysql:';
  const connections = new Set<ProxiedConnection>();
  const faults = new Set<ActiveFault>();
  let received = 0;

  const judge = (connection: ProxiedConnection, passing: Passing): Verdict => {
    if (passing.direction === 'to worker') received += passing.bytes.length;
    for (const fault of [...faults].toReversed()) {
      const verdict = isNamed(connection, fault.purpose)
        ? fault.judge(connection, passing)
        : ({ kind: 'pass' } as const);
      if (verdict.kind === 'pass') continue;
      fault.touch(connection, passing);
      return verdict;
    }
    return { kind: 'pass' };
  };

  const server = createServer({ allowHalfOpen: true }, (worker) => {
    const { port, hostname: host } = new URL(to.url);
    const database = connect({ port: Number(port), host, allowHalfOpen: true });
    const connection = new ProxiedConnection(worker, database, judge, speaksInMessages);
    connections.add(connection);
    const forget = (): void => void (connection.closed && connections.delete(connection));
    worker.on('close', forget);
    database.on('close', forget);
  });

  const start = (purpose: string, judgeOne: ActiveFault['judge']): ActiveFault => {
    const fault = new ActiveFault(purpose, judgeOne, () => {
      faults.delete(fault);
      for (const connection of connections) connection.resume();
    });
    faults.add(fault);
    return fault;
  };
  const named = (purpose: string): ProxiedConnection[] =>
    [...connections].filter((connection) => isNamed(connection, purpose));

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL(url);
  address.hostname = '127.0.0.1';
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    get received() {
      return received;
    },
    count: (purpose = '') => named(purpose).length,
    holdAnswers: (purpose) => {
      const fault = start(purpose, (_, { direction }) => ({
        kind: direction === 'to worker' ? 'hold' : 'pass',
      }));
      return { answered: fault.hit, release: () => fault.lift() };
    },
    silence: (purpose = '') => start(purpose, () => ({ kind: 'silence' })),
    forget: (purpose = '') => {
      const open = new Set(named(purpose));
      return start(purpose, (connection) => ({ kind: open.has(connection) ? 'silence' : 'pass' }));
    },
    stall: (purpose = '') => start(purpose, () => ({ kind: 'hold' })),
    delay: (ms, purpose = '') => start(purpose, () => ({ kind: 'delay', ms })),
    reset: (purpose = '') => {
      const open = named(purpose);
      for (const connection of open) connection.reset();
      return open.length;
    },
    halfClose: (told, purpose = '') => {
      const open = new Set(named(purpose));
      const direction: Direction = told === 'worker' ? 'to worker' : 'to database';
      for (const connection of open) connection.end(direction);
      return start(purpose, (connection) => ({ kind: open.has(connection) ? 'silence' : 'pass' }));
    },
    cutAfter: (bytes, purpose = '') => {
      const left = new WeakMap<ProxiedConnection, number>();
      return start(purpose, (connection, passing) => {
        if (passing.direction === 'to database') return { kind: 'pass' };
        const allowed = left.get(connection) ?? bytes;
        left.set(connection, allowed - passing.bytes.length);
        return allowed >= passing.bytes.length ? { kind: 'pass' } : { kind: 'cut', keep: allowed };
      });
    },
    swallow: (what) => start(what.purpose, swallower(what)),
    loseAnswer: (what) => start(what.purpose, answerLoser(what)),
    refuse: (what) => start(what.purpose, refuser(what)),
    translate: () => start('', translator),
    pass: () => {
      for (const fault of [...faults]) fault.lift();
    },
    close: async () => {
      server.close();
      for (const connection of connections) connection.destroy();
      await once(server, 'close');
    },
  };
}

/** A fault that is in force. */
class ActiveFault implements Fault {
  readonly lift: () => void;
  readonly #hit = deferred();
  readonly #connections = new Set<ProxiedConnection>();
  #bytes = 0;
  #messages = 0;

  constructor(
    readonly purpose: string,
    readonly judge: (connection: ProxiedConnection, passing: Passing) => Verdict,
    lift: () => void,
  ) {
    this.lift = lift;
  }

  get hit(): Promise<void> {
    return this.#hit.promise;
  }

  get hits(): Fault['hits'] {
    return { connections: this.#connections.size, bytes: this.#bytes, messages: this.#messages };
  }

  touch(connection: ProxiedConnection, { bytes, first }: Passing): void {
    this.#connections.add(connection);
    this.#bytes += bytes.length;
    if (first) this.#messages += 1;
    this.#hit.resolve();
  }
}

function isNamed({ name }: ProxiedConnection, purpose: string): boolean {
  return purpose === '' || name.endsWith(purpose);
}

/** Waits for the message; from then on the connection is under its effect. */
function swallower({ message, tag = '', holding = '', then, times = 1 }: Swallowed): ActiveFault['judge'] {
  const readyForQuery = 'Z';
  const affected = new WeakSet<ProxiedConnection>();
  let left = times;
  return (connection, passing) => {
    if (affected.has(connection)) {
      if (passing.direction === 'to database') return { kind: 'pass' };
      const isOver =
        (then === 'nothing' || (then === 'answer' && passing.message === readyForQuery)) && passing.last;
      if (isOver) affected.delete(connection);
      return { kind: 'drop' };
    }
    const isIt =
      left > 0 &&
      passing.direction === 'to worker' &&
      passing.first &&
      passing.message === message &&
      passing.bytes.subarray(5, 5 + tag.length).toString('latin1') === tag &&
      passing.bytes.includes(holding);
    if (!isIt) return { kind: 'pass' };
    left -= 1;
    if (then === 'cut') return { kind: 'cut', keep: 0 };
    if (then === 'silent') return { kind: 'silence' };
    if (then !== 'nothing' || !passing.last) affected.add(connection);
    return { kind: 'drop' };
  };
}

function refuser({ beginning, code, message }: RefusedStatement): ActiveFault['judge'] {
  const fields = `SERROR\0VERROR\0C${code}\0M${message}\0\0`;
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + fields.length);
  const ready = Buffer.from('Z\0\0\0\x05I', 'latin1');
  const answer = Buffer.concat([Buffer.from('E'), length, Buffer.from(fields), ready]);
  return (_, { direction, bytes }) => {
    // A letter, and a length of four bytes.
    const text = bytes.subarray(5, 5 + beginning.length).toString();
    const isIt = direction === 'to database' && bytes[0] === 'Q'.charCodeAt(0) && text === beginning;
    return isIt ? { kind: 'answer', bytes: answer } : { kind: 'pass' };
  };
}

const translated: Readonly<Record<string, string>> = {
  ERROR: 'ERRO',
  WARNING: 'AVISO',
  NOTICE: 'NOTA',
  FATAL: 'FATAL',
};

/** Of an error (`E`) or a notice (`N`): severity (`S`), message, detail and hint are in the language of the server, all else is not. */
const translator: ActiveFault['judge'] = (_, { message, bytes, first, last }) => {
  if ((message !== 'E' && message !== 'N') || !first || !last) return { kind: 'pass' };
  const fields = bytes
    .subarray(5)
    .toString()
    .split('\0')
    .map((field) => {
      const text = field.slice(1);
      if (field.startsWith('S')) return `S${translated[text] ?? text}`;
      return /^[MDH]/.test(field) ? `${field[0]}não foi possível: ação inválida` : field;
    });
  const body = Buffer.from(fields.join('\0'));
  const header = Buffer.alloc(5);
  header.write(message);
  header.writeInt32BE(4 + body.length, 1);
  return { kind: 'replace', bytes: Buffer.concat([header, body]) };
};

/** Waits for the text on any connection; what the server says on that one from then on is lost. */
function answerLoser({ to, then }: LostAnswer): ActiveFault['judge'] {
  let asked: ProxiedConnection | undefined;
  return (connection, { direction, bytes }) => {
    if (direction === 'to database') {
      if (bytes.includes(to)) asked ??= connection;
      return { kind: 'pass' };
    }
    if (connection !== asked) return { kind: 'pass' };
    return then === 'cut' ? { kind: 'cut', keep: 0 } : { kind: 'silence' };
  };
}
