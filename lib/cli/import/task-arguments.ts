import { open } from 'node:fs/promises';
import type { TaskInput } from '../../client/task-input.js';
import type { UniqueTask } from '../../client/unique-task.js';
import type { JsonObject } from '../../task.js';
import { membersWithLargeNumbers } from '../../values/json-numbers.js';
import { UsageError, type CommandCall, type CommandOption, type OptionValues } from '../command.js';
import { decodeUtf8 } from './ndjson-lines.js';
import { numberOption, textOption } from '../option-values.js';

/** What a task may say on the command line. */
export const taskOptions: Readonly<Record<string, CommandOption>> = {
  topic: {
    type: 'string',
    value: '<topic>',
    description: 'the topic of its handler, or of the subscriptions',
  },
  payload: {
    type: 'string',
    value: '<text|@file|->',
    description:
      'what the handler gets: this text, a file, or standard input; a line break at the end of a file or of standard input is removed',
  },
  'external-key': { type: 'string', value: '<text>', description: 'your own id for it' },
  priority: { type: 'string', value: '<n>', description: 'higher priorities run first. Default 50' },
  delay: {
    type: 'string',
    value: '<time>',
    description: 'starts only after this time: 500ms, 90s, 5m, 2h, 1d',
  },
  'run-at': {
    type: 'string',
    value: '<time>',
    description: 'does not start before this time: 2026-07-01T10:00:00Z',
  },
  'max-attempts': {
    type: 'string',
    value: '<n>',
    description: 'how many attempts it may have. Default: set by its handler',
  },
  timeout: {
    type: 'string',
    value: '<time>',
    description: 'how long each attempt may take. Default: set by its handler',
  },
  unique: {
    type: 'string',
    value: '<key>',
    description: 'inserted only if no other task has this key; a task keeps its key until it is finished',
  },
  'unique-while': {
    type: 'string',
    value: '<live|pending>',
    description:
      'how long it keeps its key: until it is finished (live, the default), or until it starts (pending)',
  },
  'unique-window': {
    type: 'string',
    value: '<text>',
    description: 'the name of a period, such as 2026-07-01, in which only one task may have the key',
  },
  'on-conflict': {
    type: 'string',
    value: '<reject|return|replace>',
    description: 'if another task has the key: an error (the default), its id, or this task in its place',
  },
  tenant: { type: 'string', value: '<n>', description: 'a whole number' },
  group: { type: 'string', value: '<text>', description: 'the group of companies' },
  origin: { type: 'string', value: '<text>', description: 'who requests it' },
  destination: { type: 'string', value: '<text>', description: 'who it is for' },
  metadata: { type: 'string', value: '<json>', description: 'a JSON object stored beside the payload' },
};

/**
 * The task of a command line, but for its payload.
 *
 * @throws {UsageError}
 */
export function readTaskOptions(options: OptionValues): TaskInput {
  const text = (name: string): string | undefined => textOption(options, name);
  const given: TaskInput = {
    topic: text('topic') ?? null,
    externalKey: text('external-key') ?? null,
    origin: text('origin') ?? null,
    destination: text('destination') ?? null,
    tenant: text('tenant') ?? null,
    group: text('group') ?? null,
    priority: numberOption(options, 'priority', { least: -2_147_483_648, most: 2_147_483_647 }) ?? null,
    runAt: text('run-at') ?? null,
    delayMs: readTime('delay', text('delay')) ?? null,
    maxAttempts: numberOption(options, 'max-attempts', { least: 1, most: 1_000_000 }) ?? null,
    timeoutMs: readTime('timeout', text('timeout')) ?? null,
    metadata: readMetadata(text('metadata')) ?? null,
    unique: readUniqueOptions(text) ?? null,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/** What they may be is checked with the task. */
function readUniqueOptions(text: (name: string) => string | undefined): TaskInput['unique'] | undefined {
  const given = {
    while: text('unique-while'),
    window: text('unique-window'),
    onConflict: text('on-conflict'),
  };
  const key = text('unique');
  if (key !== undefined) return { key, ...given } as UniqueTask;
  const [name] = ['unique-while', 'unique-window', 'on-conflict'].filter(
    (option) => text(option) !== undefined,
  );
  if (name !== undefined) throw new UsageError(`--${name} requires --unique <key>`);
  return undefined;
}

/**
 * The payload of a command line: text, a file or standard input.
 *
 * @throws {UsageError}
 */
export async function readPayload(call: CommandCall, maxBytes: number): Promise<string | undefined> {
  const given = textOption(call.options, 'payload');
  if (given === undefined || !/^(-$|@)/.test(given)) return given;
  if (given === '-') return textOf(await readAll(call.input, maxBytes), 'standard input');
  const path = given.slice(1);
  const file = await openFile(path);
  try {
    return textOf(await readAll(file.createReadStream({ autoClose: false }), maxBytes), path);
  } finally {
    await file.close();
  }
}

/** @throws {UsageError} when there is no such file, or none that may be read */
export async function openFile(path: string): Promise<Awaited<ReturnType<typeof open>>> {
  try {
    const file = await open(path);
    if (!(await file.stat()).isDirectory()) return file;
    await file.close();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `cannot read ${path}: ${code === 'ENOENT' ? 'no such file' : (code ?? 'unknown error')}`,
    );
  }
  throw new UsageError(`cannot read ${path}: it is a directory`);
}

async function readAll(stream: NodeJS.ReadableStream, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    parts.push(part);
    length += part.length;
    // And what may be left out at both ends.
    if (length > maxBytes + 5)
      throw new UsageError(`the payload is larger than maxPayloadBytes (${maxBytes})`);
  }
  return Buffer.concat(parts);
}

function textOf(bytes: Buffer, name: string): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new UsageError(`the payload in ${name} is not UTF-8: save it as UTF-8`);
  return text.replace(/\r?\n$/, '');
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time that passes, in ms: `500ms`, `90s`, `5m`, `2h`, `1d`.
 *
 * @throws {UsageError}
 */
export function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (unitMs[unit] ?? 1);
  throw new UsageError(
    `--${option} must be a time such as 500ms, 90s, 5m, 2h or 1d, not ${JSON.stringify(text)}`,
  );
}

function readMetadata(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  let problem = 'must be a JSON object, such as {"requestId":"b7f"}';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      if (!membersWithLargeNumbers(text)) return { ...value };
      problem = 'contains a number that is too long for JSON in JavaScript: write it as text';
    }
  } catch {
    // Said below.
  }
  throw new UsageError(`--metadata ${problem}`);
}
