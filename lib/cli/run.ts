import type { Environment } from '../options/variables.js';
import { resolveOptions } from '../assembly/resolve-options.js';
import { version } from '../version.js';
import { within } from '../timing/deadline.js';
import { UsageError, type Command, type CommandCall } from './command.js';
import { commands } from './commands.js';
import { commonOptions, readQueueOptions } from './common-options.js';
import { exitOfError, textOfError } from './exit-of-error.js';
import { commandHelp, generalHelp, usageLine } from './help.js';
import { nearest } from '../values/nearest.js';
import type { Opened } from '../assembly/opened.js';
import type { QueueDatabase } from '../storage/database.js';
import { Output, type OutputStream } from './output/output.js';
import { commandIndex, parseArguments, type ParsedArguments } from './parse-arguments.js';

/** What a process gives the command line. */
export interface RunContext {
  readonly env: Environment;
  /** Asked for only by commands that read it: an open standard input keeps a process alive. */
  readonly input: () => NodeJS.ReadableStream;
  readonly out: OutputStream;
  readonly err: OutputStream;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/** As shells count what a signal has ended. */
export const interrupted = 130;

/** Runs one command line and answers its exit code. Never throws, and leaves nothing open. */
export async function run(args: readonly string[], context: RunContext): Promise<number> {
  const look = { isUtc: args.includes('--utc'), env: context.env };
  const output = new Output(context.out, context.err, args.includes('--json'), look);
  const text = new Output(context.out, context.err, false);
  const index = commandIndex(args, commonOptions);
  const isHelpAsked = asksForHelp(args);
  const name = args[index];
  if (name === undefined || (name === 'help' && args[index + 1] === undefined)) {
    if (args.includes('--version')) text.line(version);
    else if (isHelpAsked || name === 'help') text.text(generalHelp(commands));
    else return refuseToGuess(text, args);
    return 0;
  }
  const wanted = name === 'help' ? (args[index + 1] ?? '') : name;
  const command = commands.find((one) => one.name === wanted);
  if (!command) return refuse(text, unknownCommand(wanted), '`tarefa --help` lists the commands.');
  if (isHelpAsked || name === 'help') {
    text.text(commandHelp(command));
    return 0;
  }
  return runCommand(command, [...args.slice(0, index), ...args.slice(index + 1)], output, context);
}

async function runCommand(
  command: Command,
  args: readonly string[],
  output: Output,
  context: RunContext,
): Promise<number> {
  const opened: Opened<unknown>[] = [];
  let code: number = 2;
  try {
    const parsed = parseArguments(args, { ...commonOptions, ...command.options });
    const options = { ...parsed.options, ...command.implied?.(parsed.positionals) };
    const { call, ended, explain } = makeCall({ ...parsed, options }, output, context, opened);
    code = await Promise.race([command.run(call).catch(explain), ended]);
  } catch (error) {
    const debug = context.env['LOG_DEBUG']?.toUpperCase() === 'TRUE';
    output.error(`tarefa ${command.name}: ${textOfError(error, debug)}`);
    if (error instanceof UsageError) {
      output.error(`${usageLine(command)}\n\`tarefa ${command.name} --help\` shows the options.`);
    }
    code = exitOfError(error);
  }
  // What is still under way must not keep who has pressed Ctrl-C.
  const patienceMs = context.signal.aborted ? 500 : 15_000;
  for (const one of opened.reverse()) await within(one.close(), patienceMs).catch(() => undefined);
  return code;
}

interface MadeCall {
  readonly call: CommandCall;
  /** Ends a command that does not look at the signal itself. */
  readonly ended: Promise<number>;
  /** Throws what a command has thrown, or what the database's refusal means. */
  readonly explain: (error: unknown) => Promise<never>;
}

function makeCall(
  { positionals, options }: ParsedArguments,
  output: Output,
  context: RunContext,
  opened: Opened<unknown>[],
): MadeCall {
  const { env, signal } = context;
  let isWatched = false;
  const ended = new Promise<number>((resolve) => {
    const end = (): void => (isWatched ? undefined : resolve(interrupted));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
  const queueOptions: CommandCall['queueOptions'] = () => readQueueOptions(options, env);
  const once = <T>(open: () => Promise<Opened<T>>): (() => Promise<T>) => {
    let value: Promise<T> | undefined;
    return () =>
      (value ??= open().then((one) => {
        opened.push(one);
        return one.value;
      }));
  };
  let database: QueueDatabase | undefined;
  const call: CommandCall = {
    positionals,
    options,
    output,
    env,
    get input() {
      return context.input();
    },
    get signal() {
      isWatched = true;
      return signal;
    },
    queueOptions,
    // Loaded when it is needed: help and mistakes are said at once.
    queue: once(async () => {
      const resolved = resolveOptions(queueOptions(), env);
      const queue = await (
        await import('../assembly/operators.js')
      ).openQueue(resolved, (text) => output.note(text));
      ({ database } = queue.value);
      return queue;
    }),
    database: once(async () => {
      const resolved = resolveOptions(queueOptions(), env);
      return (await import('../assembly/operators.js')).openDatabase(resolved);
    }),
  };
  const explain = async (error: unknown): Promise<never> => {
    throw (await database?.explainRefusal(error)) ?? error;
  };
  return { call, ended, explain };
}

/** What follows `--` is not an option. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h');
}

/** The help is our own text: nothing in it is hidden, as it is in what errors say. */
function refuseToGuess(output: Output, args: readonly string[]): number {
  if (args.length > 0) output.error('tarefa: no command given');
  output.text(generalHelp(commands));
  return 1;
}

function refuse(output: Output, problem: string, help: string): number {
  output.error(`tarefa: ${problem}\n${help}`);
  return 1;
}

function unknownCommand(name: string): string {
  const near = nearest(
    name,
    commands.map((command) => command.name),
  );
  return `unknown command ${JSON.stringify(name)}${near === undefined ? '' : `: did you mean ${near}?`}`;
}
