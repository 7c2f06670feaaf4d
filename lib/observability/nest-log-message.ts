import { inspect } from 'node:util';
import type { LogFields } from './log-line.js';

/**
 * A line as loggers take it that merge an object into their records: `nestjs-pino` finds the text as `msg`, `nest-winston`
 * as `message`, and both find the fields beside it. What prints a message as text gets the text.
 */
export class NestLogMessage {
  readonly msg: string;

  constructor(text: string, fields: LogFields, stack: string | undefined) {
    this.msg = text;
    Object.assign(this, fields);
    if (stack !== undefined) Object.assign(this, { stack });
  }

  get message(): string {
    return this.msg;
  }

  toString(): string {
    return this.msg;
  }

  [inspect.custom](): string {
    return this.msg;
  }
}
