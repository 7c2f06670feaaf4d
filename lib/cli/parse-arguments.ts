import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError, type CommandOption, type OptionValues } from './command.js';
import { nearest } from '../values/nearest.js';

/** Arguments taken apart. */
export interface ParsedArguments {
  readonly positionals: readonly string[];
  readonly options: OptionValues;
}

type Options = Readonly<Record<string, CommandOption>>;

/**
 * The first argument that is neither an option nor its value: the command.
 *
 * @param common options that may stand before it
 * @returns its place in the arguments, or -1
 */
export function commandIndex(args: readonly string[], common: Options): number {
  const token = tokensOf(args, common).find(({ kind }) => kind === 'positional');
  return token?.index ?? -1;
}

/** @throws {UsageError} naming what is wrong, with the option that may have been meant */
export function parseArguments(args: readonly string[], options: Options): ParsedArguments {
  const values = new Map<string, string | boolean | string[]>();
  const positionals: string[] = [];
  for (const token of tokensOf(args, options)) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option) throw unknownOption(rawName, options);
    const read =
      option.type === 'boolean' ? readFlag(rawName, value) : readValue(rawName, value, inlineValue === true);
    const present = values.get(name);
    if (option.multiple === true)
      values.set(name, [...(Array.isArray(present) ? present : []), String(read)]);
    else if (present !== undefined && option.type === 'string')
      throw new UsageError(`${rawName} is given twice`);
    else values.set(name, read);
  }
  return { positionals, options: Object.fromEntries(values) };
}

type Token = NonNullable<ReturnType<typeof parseArgs<{ strict: false; tokens: true }>>['tokens']>[number];

/** Not strict, because the errors of `parseArgs` say neither what may have been meant nor what there is. */
function tokensOf(args: readonly string[], options: Options): readonly Token[] {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), ...(multiple === undefined ? {} : { multiple }) },
    ]),
  ) as NonNullable<ParseArgsConfig['options']>;
  return parseArgs({ args: [...args], options: config, strict: false, tokens: true, allowPositionals: true })
    .tokens;
}

function readFlag(name: string, value: string | undefined): boolean {
  if (value === undefined) return true;
  throw new UsageError(`${name} takes no value, but was given ${JSON.stringify(value)}`);
}

function readValue(name: string, value: string | undefined, inline: boolean): string {
  if (value === undefined) throw new UsageError(`${name} needs a value`);
  // Most likely the value was forgotten. A number may be negative.
  if (!inline && /^-[^\d]/.test(value)) {
    throw new UsageError(
      `${name} needs a value; if the value is ${JSON.stringify(value)}, write ${name}=${value}`,
    );
  }
  return value;
}

/** `max-attempts` as code writes it, where words of other queues are known. */
function asWord(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function unknownOption(rawName: string, options: Options): UsageError {
  const names = Object.keys(options);
  const words = names.map(asWord);
  const word = nearest(asWord(rawName.replace(/^-+/, '')), words);
  const near = word === undefined ? undefined : names[words.indexOf(word)];
  const hint =
    near === undefined
      ? `the options are ${names.map((name) => `--${name}`).join(', ')}`
      : `did you mean --${near}?`;
  return new UsageError(`unknown option ${rawName}: ${hint}`);
}
