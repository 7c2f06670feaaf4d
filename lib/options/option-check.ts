import { nearest } from '../values/nearest.js';
import { TarefaError } from '../errors.js';

/** Collects mistakes, so that all are reported at once. What is mistaken is answered as something usable. */
export class OptionCheck {
  readonly #mistakes: string[];
  readonly #variableOf: (option: string) => string | undefined;

  /** @param variableOf the environment variable that an option's value came from, for the message */
  constructor(
    mistakes: readonly string[],
    variableOf: (option: string) => string | undefined = () => undefined,
  ) {
    this.#mistakes = [...mistakes];
    this.#variableOf = variableOf;
  }

  mistake(text: string): void {
    this.#mistakes.push(text);
  }

  /** @param of what the options belong to, where that is not the whole */
  known(names: readonly string[], all: readonly string[], of = ''): void {
    for (const name of names) {
      if (all.includes(name)) continue;
      const near = nearest(name, all);
      const hint = near === undefined ? `see docs/reference/options.md` : `did you mean '${of}${near}'?`;
      this.mistake(`unknown option '${of}${name.slice(0, 100)}': ${hint}`);
    }
  }

  missing(option: string, variables: readonly string[]): void {
    this.mistake(`${option} is missing: set the option, or the variables ${variables.join(', ')}`);
  }

  name(option: string, value: unknown, problemOf: (name: string) => string | undefined): void {
    if (value === undefined) return;
    const problem = typeof value === 'string' ? problemOf(value) : 'must be text';
    if (problem) this.mistake(`${this.#named(option)} ${show(value)} ${problem}`);
  }

  whole(option: string, value: number, least: number, most: number): number {
    if (!Number.isInteger(value) || value < least || value > most) {
      this.mistake(
        `${this.#named(option)} must be a whole number from ${least} to ${most}, not ${show(value)}`,
      );
      return least;
    }
    return value;
  }

  number(option: string, value: number, least: number, most: number): number {
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      this.mistake(`${this.#named(option)} must be a number from ${least} to ${most}, not ${show(value)}`);
      return least;
    }
    return value;
  }

  boolean(option: string, value: boolean): boolean {
    if (typeof value !== 'boolean') this.mistake(`${option} must be true or false, not ${show(value)}`);
    return value;
  }

  oneOf<T extends string>(option: string, value: T, allowed: readonly T[]): T {
    if (!allowed.includes(value)) {
      this.mistake(`${option} must be ${allowed.map((one) => `'${one}'`).join(' or ')}, not ${show(value)}`);
    }
    return value;
  }

  /** Blanks and leading zeros are fine; an empty list switches a routine off. */
  minutes(option: string, value: readonly number[] | string): readonly number[] {
    const parts: unknown = typeof value === 'string' ? value.split(',').filter((part) => part.trim()) : value;
    const minutes = new Set<number>();
    for (const part of Array.isArray(parts) ? (parts as readonly unknown[]) : [parts]) {
      if (/^\s*\d{1,2}\s*$/.test(String(part)) && Number(part) < 60) minutes.add(Number(part));
      else this.mistake(`${this.#named(option)} must list minutes from 0 to 59, not ${show(part)}`);
    }
    return Object.freeze([...minutes].sort((a, b) => a - b));
  }

  /** @throws {TarefaError} `OPTIONS_INVALID` with all mistakes */
  throwIfAny(what: string): void {
    if (this.#mistakes.length === 0) return;
    throw new TarefaError('OPTIONS_INVALID', `${what} cannot be used:\n- ${this.#mistakes.join('\n- ')}`);
  }

  #named(option: string): string {
    const variable = this.#variableOf(option);
    return variable === undefined ? option : `${option} (${variable})`;
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
