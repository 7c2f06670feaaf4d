import { addAbortSignal, type Readable } from 'node:stream';
import { defaultMaxPayloadBytes } from '../../options/payload-limit.js';
import { TarefaError } from '../../errors.js';
import { UsageError, type CommandCall, type CommandOption, type ExitCode } from '../command.js';
import { readLines } from './ndjson-lines.js';
import { flagOption, numberOption, textOption } from '../option-values.js';
import { openFile, readTaskOptions } from './task-arguments.js';
import { TaskImport, type ImportState } from './task-import.js';
import type { TaskImportTransactions } from '../../storage/task-import.js';

/** Options for many tasks at once. */
export const fileOptions: Readonly<Record<string, CommandOption>> = {
  file: {
    type: 'string',
    value: '<path|->',
    description: 'many at once: one JSON object per line of a file, or of standard input (-)',
  },
  'dry-run': { type: 'boolean', description: 'only checks the lines of --file, without a database' },
  'batch-commit': {
    type: 'string',
    value: '<n>',
    description: 'commits every <n> tasks of --file, instead of all or nothing',
  },
  skip: { type: 'string', value: '<n>', description: 'skips the first <n> lines of --file' },
};

/** Bytes of JSON that one byte of a payload may take, written as an escape of six, and room for the other fields. */
const escapedByte = 6;
const otherFieldsBytes = 1_048_576;
const lineFeed = 10;

/** Where the lines come from. */
interface Source {
  readonly stream: Readable;
  /** Undefined where it can be read only once. */
  readonly lines: number | undefined;
  close(): Promise<void>;
}

/** Inserts what the lines of `--file` say. Options for a single task apply to fields that a line leaves out. */
export async function insertFile(call: CommandCall, publication: boolean): Promise<ExitCode> {
  const { options, output, signal } = call;
  if (textOption(options, 'payload') !== undefined) {
    throw new UsageError('--payload is for a single task: with --file each line has its own');
  }
  if (textOption(options, 'unique') !== undefined) {
    throw new UsageError(
      '--unique is for a single task: with --file each line has its own, as in "unique":{"key":"k","onConflict":"return"}',
    );
  }
  const isDry = flagOption(options, 'dry-run');
  const batchCommit = numberOption(options, 'batch-commit', { least: 1, most: 1_000_000_000 });
  const skip = numberOption(options, 'skip', { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0;
  const defaults = readTaskOptions(options);
  const source = await openSource(call, textOption(options, 'file') ?? '-');
  const progress = output.progress(isDry ? 'checking' : 'inserting', source.lines);
  const startedAt = performance.now();
  let transactions: TaskImportTransactions | undefined;
  let started: TaskImport | undefined;
  try {
    if (!isDry) {
      const queue = await call.queue();
      transactions = await queue.openImport();
    }
    const maxPayloadBytes = isDry ? defaultMaxPayloadBytes : (await call.queue()).options.maxPayloadBytes;
    const advance = (lines: number): void => progress.advance(lines);
    started = new TaskImport(
      { publication, maxPayloadBytes, defaults, skip, batchCommit, signal, advance },
      transactions,
    );
    await started.run(readLines(source.stream, escapedByte * maxPayloadBytes + otherFieldsBytes));
  } catch (error) {
    throw started ? explain(error, started.state, signal) : error;
  } finally {
    progress.end();
    await transactions?.close();
    await source.close();
  }
  return report(call, started.state, {
    publication,
    isDry,
    seconds: (performance.now() - startedAt) / 1_000,
  });
}

async function openSource(call: CommandCall, path: string): Promise<Source> {
  const { input, signal } = path === '-' ? call : { input: undefined, signal: call.signal };
  if (input)
    return {
      stream: addAbortSignal(signal, input as Readable),
      lines: undefined,
      close: async () => undefined,
    };
  const file = await openFile(path);
  const stream = (): Readable =>
    file.createReadStream({ autoClose: false, start: 0, highWaterMark: 262_144 });
  try {
    const isRegular = (await file.stat()).isFile();
    const lines = isRegular ? await countLines(addAbortSignal(signal, stream())) : undefined;
    const whole = isRegular ? stream() : file.createReadStream({ autoClose: false });
    return { stream: addAbortSignal(signal, whole), lines, close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function countLines(stream: AsyncIterable<Buffer>): Promise<number> {
  let feeds = 0;
  let last = lineFeed;
  for await (const chunk of stream) {
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) feeds += 1;
    last = chunk.at(-1) ?? last;
  }
  return last === lineFeed ? feeds : feeds + 1;
}

/** What was interrupted says how far it had come. */
function explain(error: unknown, state: ImportState, signal: AbortSignal): unknown {
  if (error instanceof TarefaError && error.message.includes('whether it was committed')) return error;
  const why = signal.aborted ? 'interrupted' : error instanceof Error ? error.message : String(error);
  return new TarefaError('CONNECTION_LOST', `${why}; ${standing(state)}`, { cause: error });
}

/** What is there to stay, and how to go on. */
function standing({ committed, committedThrough }: ImportState): string {
  if (committed === 0) return 'nothing was inserted';
  return `${count(committed, 'task')} from the lines up to ${committedThrough} ${committed === 1 ? 'was' : 'were'} inserted: continue with --skip ${committedThrough}`;
}

interface Circumstances {
  readonly publication: boolean;
  readonly isDry: boolean;
  readonly seconds: number;
}

function report(
  { output }: CommandCall,
  state: ImportState,
  { publication, isDry, seconds }: Circumstances,
): ExitCode {
  const { tasks, committed, committedThrough, firstId, lastId, errors, errorCount } = state;
  output.json({ checked: tasks, inserted: committed, committedThrough, firstId, lastId, errorCount, errors });
  for (const { line, lastLine, message } of errors) {
    output.note(`${lastLine === undefined ? `line ${line}` : `lines ${line} to ${lastLine}`}: ${message}`);
  }
  if (errorCount > errors.length)
    output.note(`and ${count(errorCount - errors.length, 'more line')} with errors`);
  if (errorCount > 0) {
    output.note(
      isDry ? `${count(errorCount, 'line')} with errors; ${count(tasks, 'valid task')}` : standing(state),
    );
    return 3;
  }
  const what = count(isDry ? tasks : committed, publication ? 'publication' : 'task');
  const speed = `${seconds.toFixed(1)} s, ${Math.round(tasks / Math.max(seconds, 0.001)).toLocaleString('en-US')} lines/s`;
  const ids =
    firstId === undefined ? '' : firstId === lastId ? `, id ${firstId}` : `, ids ${firstId} to ${lastId}`;
  output.line(isDry ? `${what} would be inserted (${speed})` : `${what} inserted${ids} (${speed})`);
  return 0;
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en-US')} ${what}${number === 1 ? '' : 's'}`;
}
