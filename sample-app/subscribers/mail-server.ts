import { Injectable } from '@nestjs/common';

export interface Mail {
  readonly order: number;
  readonly attempt: number;
  /** A mail server that has seen it before does not send again. */
  readonly idempotencyKey: string;
}

/** Stands for a mail server somewhere else, which is busy twice for every third order. */
@Injectable()
export class MailServer {
  send({ order, attempt }: Mail): void {
    if (order % 3 === 0 && attempt <= 2) throw new Error('the mail server is busy');
  }
}
