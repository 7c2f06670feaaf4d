import type { LogFields } from '../log-line.js';

/** What logfmt takes without quotes. */
const plain = /^[^\s"=\\\p{C}]+$/u;

/** Writes a line as logfmt: the text as `msg`, then its fields, in their order. */
export function logfmt(text: string, fields: LogFields, stack: string | undefined): string {
  let line = `msg=${quoted(text)}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null) line += ` ${name}=${quoted(String(value))}`;
  }
  return stack === undefined ? line : `${line} stack=${quoted(stack)}`;
}

function quoted(value: string): string {
  return plain.test(value) ? value : JSON.stringify(value);
}
