import type { OperatorQueue, SchemaDatabase } from '../assembly/operators.js';
import type { Environment } from '../options/variables.js';
import type { QueueOptions } from '../options/queue-options.js';
import type { Output } from './output/output.js';

/** An option of a command. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  /** One letter. */
  readonly short?: string;
  readonly multiple?: boolean;
  /** What the help shows in its place: `<n>`. */
  readonly value?: string;
  /** What it may be, where that is one of a few words. */
  readonly choices?: readonly string[];
  readonly description: string;
}

/**
 * How a command ended. 0: done. 1: wrong usage or bad input, nothing was done. 2: the database cannot be reached or
 * refused, or the action was refused (not found, another state). 3: a check says no, or not everything could be done.
 */
export type ExitCode = 0 | 1 | 2 | 3;

/** One command of the command line; help, parsing and the reference page are made from it. */
export interface Command {
  readonly name: string;
  /** One line of `tarefa --help`. */
  readonly summary: string;
  /** What stands behind the name: `<schema> <queue> [channel]`. */
  readonly usage: string;
  /** Words that may stand there, for shells that complete them. */
  readonly words?: readonly string[];
  /** Paragraphs of `tarefa <name> --help`, with an empty line between two. */
  readonly description?: string;
  /** Besides the common ones. */
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Whole command lines, without `npx`. */
  readonly examples?: readonly string[];
  /** Common options that arguments stand for, such as the table of `adopt <table>`. */
  readonly implied?: (positionals: readonly string[]) => OptionValues;
  run(call: CommandCall): Promise<ExitCode>;
}

/** Values of options by name; undefined when an option was not given. */
export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** One call of a command. */
export interface CommandCall {
  readonly positionals: readonly string[];
  readonly options: OptionValues;
  readonly output: Output;
  readonly env: Environment;
  /** Standard input. */
  readonly input: NodeJS.ReadableStream;
  /** Aborted by Ctrl-C or SIGTERM. A command that looks at it ends by itself; others are ended. */
  readonly signal: AbortSignal;
  /**
   * Where the database and which the queue is, before they are checked: for commands that open more than
   * {@link CommandCall.queue} does.
   *
   * @throws {UsageError} when the connection or the queue is not said
   */
  readonly queueOptions: () => QueueOptions;
  /** Opens (once) and checks the queue; the runner closes it. */
  queue(): Promise<OperatorQueue>;
  /** Opens (once) a pool of the connection, with the resolved options: for commands that make or check tables. */
  database(): Promise<SchemaDatabase>;
}

/** The command was called wrongly: its message and its usage line are shown, and nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
