import type { Command, CommandOption } from './command.js';

// Scripts that complete command lines. They hold all names and options, so that no press of a key starts Node.

type Options = Readonly<Record<string, CommandOption>>;

/** What is completed. */
export interface Completable {
  readonly commands: readonly Command[];
  /** Of every command. */
  readonly common: Options;
}

/** The shells, and who writes a script for each. */
export const completions = { bash, zsh, fish } as const;

/** A shell that can be asked for. */
export type Shell = keyof typeof completions;

function bash({ commands, common }: Completable): string {
  return [
    '# Completes tarefa in bash: eval "$(tarefa completion bash)"',
    '_tarefa() {',
    '  local word command="" previous="" words',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    ...skipValues(common, 'previous'),
    '    case $word in -*) ;; *) command=$word; break ;; esac',
    '  done',
    '  case ${COMP_WORDS[COMP_CWORD-1]} in',
    ...choices({ commands, common }).map(
      ([name, values]) =>
        `    ${name}) COMPREPLY=($(compgen -W ${quoted(values.join(' '))} -- "\${COMP_WORDS[COMP_CWORD]}")); return ;;`,
    ),
    '  esac',
    '  case $command in',
    `    '') words=${quoted([...commands.map(({ name }) => name), ...flags(common)].join(' '))} ;;`,
    ...commands.map(
      (command) => `    ${command.name}) words=${quoted(wordsOf(command, common).join(' '))} ;;`,
    ),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -o default -F _tarefa tarefa',
    '',
  ].join('\n');
}

function zsh({ commands, common }: Completable): string {
  const described = (name: string, text: string): string => quoted(`${name.replaceAll(':', '\\:')}:${text}`);
  const options = (all: Options): readonly string[] =>
    Object.entries(all).map(([name, { description }]) => described(`--${name}`, description));
  return [
    '#compdef tarefa',
    '# Completes tarefa in zsh: source <(tarefa completion zsh)',
    '_tarefa() {',
    '  local word command="" previous=""',
    '  local -a entries',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    ...skipValues(common, 'previous'),
    '    case $word in -*) ;; *) command=$word; break ;; esac',
    '  done',
    '  case ${words[CURRENT-1]} in',
    ...choices({ commands, common }).map(
      ([name, values]) => `    ${name}) compadd -- ${values.join(' ')}; return ;;`,
    ),
    '  esac',
    '  case $command in',
    `    '') entries=(${[...commands.map(({ name, summary }) => described(name, summary)), ...options(common)].join(' ')}) ;;`,
    ...commands.map(
      ({ name, options: own = {} }) =>
        `    ${name}) entries=(${options({ ...own, ...common }).join(' ')}) ;;`,
    ),
    '  esac',
    "  _describe 'tarefa' entries || _files",
    '}',
    'compdef _tarefa tarefa',
    '',
  ].join('\n');
}

function fish({ commands, common }: Completable): string {
  const option = (
    condition: string,
    [name, { short, value, choices: values, description }]: [string, CommandOption],
  ) =>
    [
      'complete -c tarefa',
      condition,
      `-l ${name}`,
      ...(short === undefined ? [] : [`-s ${short}`]),
      ...(value === undefined ? [] : ['-r']),
      ...(values === undefined ? [] : [`-f -a ${quoted(values.join(' '))}`]),
      `-d ${quoted(description)}`,
    ]
      .filter((part) => part !== '')
      .join(' ');
  return [
    '# Completes tarefa in fish: tarefa completion fish | source',
    ...Object.entries(common).map((one) => option('', one)),
    ...commands.flatMap(({ name, summary, options = {} }) => [
      `complete -c tarefa -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
      ...Object.entries(options).map((one) => option(`-n '__fish_seen_subcommand_from ${name}'`, one)),
    ]),
    '',
  ].join('\n');
}

/** What follows a common option with a value is not a command. */
function skipValues(common: Options, variable: string): readonly string[] {
  const names = Object.entries(common)
    .filter(([, { type }]) => type === 'string')
    .map(([name]) => `--${name}`);
  return [
    `    case $${variable} in ${names.join('|')}) ${variable}=""; continue ;; esac`,
    `    ${variable}=$word`,
  ];
}

function wordsOf({ options = {}, words = [] }: Command, common: Options): readonly string[] {
  return [...words, ...flags(options), ...flags(common)];
}

function flags(options: Options): readonly string[] {
  return Object.keys(options).map((name) => `--${name}`);
}

/** Options that take one of a few words, with these. */
function choices({ commands, common }: Completable): readonly (readonly [string, readonly string[]])[] {
  const all = new Map<string, readonly string[]>();
  for (const [name, { choices: values }] of [common, ...commands.map(({ options = {} }) => options)].flatMap(
    (one) => Object.entries(one),
  )) {
    if (values) all.set(`--${name}`, values);
  }
  return [...all];
}

/** For any of the shells, on one line. */
function quoted(text: string): string {
  return `'${text.replace(/\s+/g, ' ').replaceAll("'", "'\\''")}'`;
}
