import { Injectable } from '@nestjs/common';
import { QueueClient, Subscriber, type TaskContext } from '../../lib/index.js';
import type { Order } from '../orders/order.js';
import { MailServer } from './mail-server.js';
import { sendSurvey, type Survey } from './survey.task.js';

/** Sends a receipt, and tries again when the mail server is busy. */
@Injectable()
export class ReceiptSubscriber {
  constructor(
    private readonly mailServer: MailServer,
    private readonly queue: QueueClient,
  ) {}

  @Subscriber('receipt', { maxAttempts: 5, retryDelayMs: 500 })
  async send(order: Order, { task, db }: TaskContext): Promise<string> {
    // A mail cannot be rolled back. Should the commit fail after it, the next attempt shows the same key.
    this.mailServer.send({ order: order.id, attempt: task.attempt, idempotencyKey: task.key });
    await db.query('insert into shop_receipt (order_id) values ($1)', [order.id]);

    // A task of its own, in the same transaction: it exists only if the receipt was sent. A second stands for a week.
    const payload: Survey = { orderId: order.id };
    await this.queue.insertTask({ topic: sendSurvey, payload, delayMs: 1_000 }, { tx: db });
    return `receipt sent to ${order.customer}`;
  }
}
