import { Injectable } from '@nestjs/common';
import { DeadSubscriber, Subscriber, UnrecoverableError, type TaskContext } from '../../lib/index.js';
import { Database } from '../database/database.js';
import { orderPlaced, type Order } from '../orders/order.js';

/** Reserves stock, all items of an order or none. */
@Injectable()
export class StockSubscriber {
  constructor(private readonly database: Database) {}

  @Subscriber('stock', { topic: orderPlaced })
  async reserve(order: Order, { db }: TaskContext): Promise<string> {
    for (const [index, { sku, quantity }] of order.items.entries()) {
      // Thrown at the third item, it undoes the first two. Trying again would not help, so the task is dead at once.
      if (sku === 'unicorn') throw new UnrecoverableError('nobody has unicorns in stock');
      await db.query(this.database.sql.insertReservation, [order.id, index + 1, sku, quantity]);
    }
    return `reserved ${order.items.length} item${order.items.length === 1 ? '' : 's'}`;
  }

  /** Runs when a reservation was given up: somebody has to call the customer. */
  @DeadSubscriber('stock')
  async giveUp(order: Order, { db }: TaskContext): Promise<string> {
    const problem = 'stock could not be reserved: call the customer';
    await db.query(this.database.sql.noteAttention, [problem, order.id]);
    return 'marked for attention';
  }
}
