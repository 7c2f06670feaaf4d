import { Injectable } from '@nestjs/common';
import { TaskHandler, type TaskContext } from '../../lib/index.js';

export const sendSurvey = 'send-survey';

export interface Survey {
  readonly orderId: number;
}

/** Asks the customer how it was: a simple task, inserted for later by the receipt. */
@Injectable()
export class SurveyTask {
  @TaskHandler(sendSurvey)
  async send({ orderId }: Survey, { db }: TaskContext): Promise<void> {
    await db.query('insert into shop_survey (order_id) values ($1)', [orderId]);
  }
}
