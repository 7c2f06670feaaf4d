import { styleText } from 'node:util';
import type { Environment } from '../../options/variables.js';
import type { TaskState } from '../../task.js';

type Format = Parameters<typeof styleText>[0];

const formats: Readonly<Record<string, Format>> = {
  scheduled: 'cyan',
  retrying: 'yellow',
  pending: 'blue',
  processing: 'magenta',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'gray',
};

/** Colours a text by the status that it tells. */
export type Paint = (text: string, status: TaskState) => string;

export const plain: Paint = (text) => text;

const coloured: Paint = (text, status) => {
  const format = Object.hasOwn(formats, status) ? formats[status] : undefined;
  // Whether the stream takes colours was asked before, of the variables that the command was given.
  return format === undefined ? text : styleText(format, text, { validateStream: false });
};

/**
 * Colours on a terminal, unless `NO_COLOR` says no (https://no-color.org). `FORCE_COLOR` decides for both, as Node has it:
 * `0` and `false` switch them off.
 */
export function paintFor(isTerminal: boolean, env: Environment): Paint {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return /^(0|false)$/i.test(force) ? plain : coloured;
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb' ? coloured : plain;
}
