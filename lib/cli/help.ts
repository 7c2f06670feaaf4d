import type { Command, CommandOption } from './command.js';
import { commonOptions } from './common-options.js';

const lineWidth = 96;

/** `tarefa --help`: every command in a line. */
export function generalHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 2;
  return [
    'Inspects and manages a queue of nestjs-tarefa.',
    '',
    'Usage: tarefa <command> [options]',
    '',
    'Commands',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    '',
    'Options of all commands',
    ...optionLines(commonOptions),
    '',
    '`tarefa <command> --help` shows the options of a command, `tarefa --version` the version.',
    'Exit codes: 0 done; 1 wrong usage or bad input, nothing was done; 2 the database is unreachable, or',
    'the action was refused; 3 a check failed, or not everything could be done.',
    '',
  ].join('\n');
}

/** `tarefa <command> --help`. */
export function commandHelp(command: Command): string {
  const { options = {}, examples = [] } = command;
  return [
    ...commandParagraphs(command).flatMap((paragraph) => [...wrap(paragraph, lineWidth), '']),
    usageLine(command),
    ...(Object.keys(options).length > 0 ? ['', 'Options', ...optionLines(options)] : []),
    '',
    'Options of all commands',
    ...optionLines(commonOptions),
    ...(examples.length > 0 ? ['', 'Examples', ...examples.map((example) => `  ${example}`)] : []),
    '',
  ].join('\n');
}

/** What it does, each paragraph in one line. */
export function commandParagraphs({ summary, description }: Command): readonly string[] {
  const paragraphs = description?.split(/\n\s*\n/) ?? [];
  return [
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...paragraphs.map((paragraph) => paragraph.replace(/\s+/g, ' ').trim()),
  ];
}

/** `Usage: tarefa retry <id...> [options]`. */
export function usageLine({ name, usage }: Command): string {
  return `Usage: tarefa ${[name, usage, '[options]'].filter(Boolean).join(' ')}`;
}

/** `-h, --help`, `--limit <n>`. */
export function optionTitle(name: string, { short, value }: CommandOption): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

function optionLines(options: Readonly<Record<string, CommandOption>>): readonly string[] {
  const titles = Object.entries(options).map(([name, option]) => optionTitle(name, option));
  const width = Math.max(...titles.map(({ length }) => length)) + 2;
  return Object.values(options).flatMap(({ description, multiple }, index) => {
    const text = multiple === true ? `${description} (may be given several times)` : description;
    return wrap(text, lineWidth - width - 2).map(
      (line, row) => `  ${(row === 0 ? (titles[index] ?? '') : '').padEnd(width)}${line}`,
    );
  });
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
