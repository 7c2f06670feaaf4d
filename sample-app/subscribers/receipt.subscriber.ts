import { Injectable } from '@nestjs/common';
import { QueueClient, Subscriber, type TaskContext } from '../../lib/index.js';
import { Database } from '../database/database.js';
import { orderPlaced, type Order } from '../orders/order.js';
import { MailServer } from './mail-server.js';
import { sendSurvey } from './survey.task.js';

/** Sends a receipt, and tries again when the mail server is busy. */
@Injectable()
export class ReceiptSubscriber {
  constructor(
    private readonly mailServer: MailServer,
    private readonly queue: QueueClient,
    private readonly database: Database,
  ) {}

  @Subscriber('receipt', { topic: orderPlaced, maxAttempts: 5, retryDelayMs: 500 })
  async send(order: Order, { task, db }: TaskContext): Promise<string> {
    // A mail cannot be rolled back. Should the commit fail after it, the next attempt shows the same key.
    this.mailServer.send({ order: order.id, attempt: task.attempt, idempotencyKey: task.key });
    await db.query(this.database.sql.insertReceipt, [order.id]);

    // A task of its own, in the same transaction: it exists only if the receipt was sent. A second stands for a week.
    const survey = { topic: sendSurvey, payload: { orderId: order.id }, delayMs: 1_000 };
    await this.queue.insertTask(survey, { tx: db });
    return `receipt sent to ${order.customer}`;
  }
}
