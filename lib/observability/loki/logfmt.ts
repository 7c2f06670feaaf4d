import type { LogLine } from '../log-line.js';

/** What logfmt takes in quotes only. */
// eslint-disable-next-line no-control-regex
const special = /[\s"=\\\u0000-\u001f\u007f-\u009f]/;

/** Writes a line as logfmt: the text as `msg`, then its fields, in their order. */
export function logfmt({ text, fields, stack }: LogLine): string {
  let line = `msg=${quoted(text)}`;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    line += ` ${name}=${typeof value === 'string' ? quoted(value) : value}`;
  }
  return stack === undefined ? line : `${line} stack=${quoted(stack)}`;
}

function quoted(value: string): string {
  return value === '' || special.test(value) ? JSON.stringify(value) : value;
}

/** How long that will be, about: what quotes and other alphabets add is not counted. */
export function lengthOf({ text, fields, stack = '' }: LogLine): number {
  let length = text.length + stack.length + 8;
  for (const name in fields) {
    const value = fields[name];
    length += name.length + 2 + (typeof value === 'string' ? value.length : 6);
  }
  return length;
}
