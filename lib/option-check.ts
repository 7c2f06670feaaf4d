import { TarefaError } from './queue.errors.js';

/** Collects mistakes, so that all are reported at once. */
export class OptionCheck {
  readonly #mistakes: string[];

  constructor(mistakes: readonly string[]) {
    this.#mistakes = [...mistakes];
  }

  mistake(text: string): void {
    this.#mistakes.push(text);
  }

  known(names: readonly string[], all: readonly string[]): void {
    for (const name of names) {
      if (all.includes(name)) continue;
      const near = all.find((known) => known.toLowerCase() === name.toLowerCase());
      const hint = near ? `did you mean '${near}'?` : `the options are ${all.join(', ')}`;
      this.mistake(`there is no option '${name}': ${hint}`);
    }
  }

  missing(option: string, variables: readonly string[]): void {
    this.mistake(`${option} is missing: set the option, or the variables ${variables.join(', ')}`);
  }

  name(option: string, value: unknown, problemOf: (name: string) => string | undefined): void {
    if (value === undefined) return;
    const problem = typeof value === 'string' ? problemOf(value) : 'must be text';
    if (problem) this.mistake(`${option} ${JSON.stringify(value)} ${problem}`);
  }

  whole(option: string, value: number, least: number, most: number): number {
    if (!Number.isInteger(value) || value < least || value > most) {
      this.mistake(`${option} must be a whole number from ${least} to ${most}, not ${show(value)}`);
    }
    return value;
  }

  number(option: string, value: number, least: number, most: number): number {
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      this.mistake(`${option} must be a number from ${least} to ${most}, not ${show(value)}`);
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
    const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
    const minutes = [...parts].filter((part) => part !== '').map(Number);
    for (const [index, minute] of minutes.entries()) {
      if (!Number.isInteger(minute) || minute < 0 || minute > 59) {
        this.mistake(`${option} must list minutes from 0 to 59, not ${show(parts[index])}`);
      }
    }
    return Object.freeze([...new Set(minutes)].sort((a, b) => a - b));
  }

  /** @throws {TarefaError} `OPTIONS_INVALID` with all mistakes */
  throwIfAny(what: string): void {
    if (this.#mistakes.length === 0) return;
    throw new TarefaError('OPTIONS_INVALID', `${what} cannot be used:\n- ${this.#mistakes.join('\n- ')}`);
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
