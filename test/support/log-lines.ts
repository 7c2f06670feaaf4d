import type { LoggerService } from '@nestjs/common';

type Level = 'log' | 'warn' | 'error' | 'debug';

/** A logger that keeps what it is told by the library, by level. Nest's own lines are left out. */
export class LogLines implements LoggerService {
  readonly #lines: { readonly level: Level; readonly text: string }[] = [];

  /** The lines of a level, or all, in order. */
  of(level?: Level): readonly string[] {
    return this.#lines.filter((line) => level === undefined || line.level === level).map(({ text }) => text);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#keep('log', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#keep('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#keep('error', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.#keep('debug', message, rest);
  }

  /** Nest hands the context over last. */
  #keep(level: Level, message: unknown, rest: readonly unknown[]): void {
    if (String(rest.at(-1)).startsWith('Tarefa')) this.#lines.push({ level, text: String(message) });
  }
}
