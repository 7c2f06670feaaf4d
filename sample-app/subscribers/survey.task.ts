import { Injectable } from '@nestjs/common';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { Database } from '../database/database.js';

export const sendSurvey = 'send-survey';

export interface Survey {
  readonly orderId: number;
}

// From here on the compiler refuses another payload for this topic, where it is inserted and where it is handled.
declare module '../../lib/index.js' {
  interface QueueTopics {
    [sendSurvey]: Survey;
  }
}

/** Asks the customer how it was: a simple task, inserted for later by the receipt. */
@Injectable()
export class SurveyTask {
  constructor(private readonly database: Database) {}

  @TaskHandler(sendSurvey)
  async send({ orderId }: Survey, { db }: TaskContext): Promise<void> {
    await db.query(this.database.sql.insertSurvey, [orderId]);
  }
}
