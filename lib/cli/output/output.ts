import type { Environment } from '../../options/variables.js';
import { endlessName } from '../../storage/columns.js';
import { paintFor, type Paint } from './colours.js';
import { readableTime } from './readable.js';
import { ProgressBar, silentProgress, type Progress } from './progress-bar.js';
import { textTable, type Cell } from './text-table.js';
import { visibleJson, visibleLine, visibleText } from './visible-text.js';

/** A stream that may be a terminal. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** How an {@link Output} looks. */
export interface OutputLook {
  /** Default true. */
  readonly isUtc?: boolean;
  /** What decides on colours. Default: nothing of it is set. */
  readonly env?: Environment;
}

/**
 * What a command says. Its result goes to standard output: as text, or as JSON where that was asked for; what
 * accompanies it goes to standard error. Whatever comes in, nothing steers the terminal.
 */
export class Output {
  /** True with `--json`: then text is silent and {@link json} speaks. */
  readonly asJson: boolean;
  /** True when standard output is a terminal. */
  readonly isTerminal: boolean;
  readonly #out: OutputStream;
  readonly #err: OutputStream;
  readonly #isUtc: boolean;
  readonly #paint: Paint;

  constructor(
    out: OutputStream,
    err: OutputStream,
    asJson: boolean,
    { isUtc = true, env = {} }: OutputLook = {},
  ) {
    this.#out = out;
    this.#err = err;
    this.asJson = asJson;
    this.isTerminal = out.isTTY === true;
    this.#isUtc = isUtc;
    this.#paint = paintFor(this.isTerminal, env);
  }

  /** A time as text shows it: with the offset of this computer's zone, unless `--utc` was given. */
  readonly time = (time: Date): string => readableTime(time, this.#isUtc);

  /** One line of text, whatever it holds. Silent with `--json`, like {@link text} and {@link table}. */
  line(text = ''): void {
    if (!this.asJson) this.#out.write(`${visibleLine(text)}\n`);
  }

  /** Several lines of text, such as a script. */
  text(text: string): void {
    if (!this.asJson) this.#out.write(text.endsWith('\n') ? visibleText(text) : `${visibleText(text)}\n`);
  }

  /** A table with a header; nothing at all when it has no rows. */
  table(columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
    if (this.asJson || rows.length === 0) return;
    // A terminal that does not know its width says 0, or nothing.
    const width = (this.isTerminal && this.#out.columns) || Infinity;
    const look = { width, paint: this.#paint, time: this.time };
    this.#out.write(`${textTable(columns, rows, look).join('\n')}\n`);
  }

  /** The whole result as one JSON document, with `--json`. */
  json(value: unknown): void {
    if (this.asJson) this.#out.write(`${jsonText(value, 2)}\n`);
  }

  /** One JSON document of several, each in a line of its own, with `--json`. */
  jsonLine(value: unknown): void {
    if (this.asJson) this.#out.write(`${jsonText(value)}\n`);
  }

  /** Something besides the result, on standard error. Silent with `--json`. */
  note(text: string): void {
    if (!this.asJson) this.error(text);
  }

  /** What went wrong, on standard error. */
  error(text: string): void {
    this.#err.write(`${visibleText(withoutPasswords(text)).trimEnd()}\n`);
  }

  /** A bar on a terminal's standard error; silent elsewhere and with `--json`. */
  progress(label: string, total?: number): Progress {
    if (this.asJson || this.#err.isTTY !== true) return silentProgress;
    return new ProgressBar(this.#err, label, total);
  }

  /** A question on standard error, without an end of line. */
  prompt(text: string): void {
    this.#err.write(visibleText(text));
  }

  /** Empties a terminal, so that what follows stands in the place of what was there. */
  clear(): void {
    if (!this.asJson && this.isTerminal) this.#out.write('\x1b[H\x1b[2J\x1b[3J');
  }
}

function jsonText(value: unknown, indent?: number): string {
  // The value is text already where it is a time; what it belongs to still has the time.
  const replacer = function (this: Readonly<Record<string, unknown>>, name: string, one: unknown): unknown {
    const given = this[name];
    if (given instanceof Date) return endlessName(given) ?? one;
    return typeof one === 'bigint' ? String(one) : one;
  };
  return visibleJson(JSON.stringify(value, replacer, indent) ?? 'null');
}

/** Hides the password of every address in a text: `postgres://shop:***@db/shop`. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/@]*):\S*@/gi, '$1:***@')
    .replace(/([?&\s](?:password|pass|pwd)=)[^&\s]*/gi, '$1***');
}
