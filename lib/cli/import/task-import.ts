import type { NumberedTask, Refusal, TaskImportTransactions } from '../../storage/task-import.js';
import type { Line } from './ndjson-lines.js';
import { LineProblem, readTaskLine, type TaskLineRules } from './task-line.js';

const batchTasks = 1_000;
const batchCharacters = 4_194_304;
const mostErrors = 20;

/** What an import needs to know besides its lines. */
export interface TaskImportRules extends TaskLineRules {
  /** Lines at the beginning that are left out. */
  readonly skip: number;
  /** Tasks of one commit; undefined: all of them. */
  readonly batchCommit: number | undefined;
  readonly signal: AbortSignal;
  /** Told how many lines were done. */
  readonly advance: (lines: number) => void;
}

/** What is wrong with a line, or with one of several. */
export interface LineError {
  readonly line: number;
  readonly lastLine?: number;
  readonly message: string;
}

/** What an import has come to, also when it failed. */
export interface ImportState {
  /** Tasks that were read and found good. */
  tasks: number;
  /** Tasks that are there to stay. */
  committed: number;
  /** All lines up to this one are done with. */
  committedThrough: number;
  firstId: string | undefined;
  lastId: string | undefined;
  /** The first twenty. */
  readonly errors: LineError[];
  errorCount: number;
}

/**
 * Reads tasks from lines and inserts them in batches, the next one being read while one is inserted. After the first line
 * that is wrong nothing more is inserted, and the others are only looked at.
 */
export class TaskImport {
  readonly state: ImportState = {
    tasks: 0,
    committed: 0,
    committedThrough: 0,
    firstId: undefined,
    lastId: undefined,
    errors: [],
    errorCount: 0,
  };
  readonly #rules: TaskImportRules;
  readonly #transactions: TaskImportTransactions | undefined;
  #batch: NumberedTask[] = [];
  #characters = 0;
  #inTransaction = 0;
  #ids: { first: string | undefined; last: string | undefined } = { first: undefined, last: undefined };
  #writing: Promise<void> = Promise.resolve();

  /** @param transactions undefined: lines are only looked at */
  constructor(rules: TaskImportRules, transactions: TaskImportTransactions | undefined) {
    this.#rules = rules;
    this.#transactions = transactions;
  }

  /** Reads all lines. What was inserted and not committed is left to the owner of the transactions. */
  async run(chunks: AsyncIterable<readonly Line[]>): Promise<void> {
    const { skip, advance } = this.#rules;
    let last = 0;
    for await (const lines of chunks) {
      for (const line of lines) {
        if (line.number > skip) await this.#take(line);
      }
      const reached = lines.at(-1)?.number ?? last;
      advance(reached - last);
      last = reached;
    }
    await this.#commit(last);
  }

  async #take(line: Line): Promise<void> {
    const task = this.#read(line);
    if (!task || this.state.errorCount > 0) return;
    this.#batch.push({ line: line.number, task });
    this.#characters += line.text.length;
    const { batchCommit = Infinity } = this.#rules;
    if (this.#inTransaction + this.#batch.length >= batchCommit) await this.#commit(line.number);
    else if (this.#batch.length >= batchTasks || this.#characters >= batchCharacters) await this.#flush();
  }

  #read({ number, text, problem }: Line): NumberedTask['task'] | undefined {
    try {
      if (problem !== undefined) throw new LineProblem(problem);
      const task = readTaskLine(text, this.#rules);
      this.state.tasks += 1;
      return task;
    } catch (error) {
      if (!(error instanceof LineProblem)) throw error;
      this.#report({ line: number, message: error.message });
      return undefined;
    }
  }

  #report(error: LineError): void {
    this.state.errorCount += 1;
    if (this.state.errors.length < mostErrors) this.state.errors.push(error);
    this.state.errors.sort((one, other) => one.line - other.line);
  }

  /** Hands the batch on as soon as the one before it is inserted. */
  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    this.#inTransaction += batch.length;
    await this.#writing;
    if (batch.length === 0 || this.state.errorCount > 0) return;
    this.#writing = this.#write(batch);
    // It is awaited before the next one, or at the end.
    this.#writing.catch(() => undefined);
  }

  async #write(batch: readonly NumberedTask[]): Promise<void> {
    this.#rules.signal.throwIfAborted();
    const ids = await this.#transactions?.insert(batch);
    if (ids === undefined) return;
    if ('message' in ids) return this.#report(errorOf(ids));
    this.#ids.first ??= ids[0];
    this.#ids.last = ids.at(-1);
  }

  /** @param through the line that everything is done up to */
  async #commit(through: number): Promise<void> {
    await this.#flush();
    await this.#writing;
    const { signal } = this.#rules;
    if (this.state.errorCount > 0 || !this.#transactions) return;
    signal.throwIfAborted();
    await this.#transactions.commit();
    this.state.committed += this.#inTransaction;
    this.state.committedThrough = through;
    this.state.firstId ??= this.#ids.first;
    this.state.lastId = this.#ids.last ?? this.state.lastId;
    this.#inTransaction = 0;
    this.#ids = { first: undefined, last: undefined };
  }
}

function errorOf({ first, last, message }: Refusal): LineError {
  const text = `the database refused it: ${message}`;
  return first === last
    ? { line: first, message: text }
    : { line: first, lastLine: last, message: text.replace('refused it', 'refused one of them') };
}
