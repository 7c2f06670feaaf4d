import { parseInstant, readInstant } from '../values/instant.js';
import { UsageError, type OptionValues } from './command.js';

// Readers of a command's options; what is wrong with one is said with its name.

/** The text of an option that takes one; undefined when it was not given. */
export function textOption(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** True when an option without value was given. */
export function flagOption(options: OptionValues, name: string): boolean {
  return options[name] === true;
}

/** Every text of an option that may be given several times. */
export function listOption(options: OptionValues, name: string): readonly string[] {
  const value = options[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

/** @throws {UsageError} unless it is a number in these bounds */
export function numberOption(
  options: OptionValues,
  name: string,
  { least, most, whole = true }: { readonly least: number; readonly most: number; readonly whole?: boolean },
): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  throw new UsageError(
    `--${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not ${JSON.stringify(text)}`,
  );
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time: `2026-01-31`, `2026-01-31T12:00:00Z`, or an age: `30m`, `24h`, `7d`.
 *
 * @throws {UsageError}
 */
export function timeOption(options: OptionValues, name: string): Date | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const [, number = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const date = number
    ? readInstant(new Date(Date.now() - Number(number) * (unitMs[unit] ?? 0)))
    : parseInstant(text, { zone: 'optional' });
  if (date) return date;
  throw new UsageError(
    `--${name} must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z, or an age such as 30m, 24h or 7d, not ${JSON.stringify(text)}`,
  );
}
