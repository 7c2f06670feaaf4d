import { Injectable } from '@nestjs/common';
import { DeadSubscriber, Subscriber, UnrecoverableError, type TaskContext } from '../../lib/index.js';
import { orderPlaced, type Order } from '../orders/order.js';

/** Reserves stock, all items of an order or none. */
@Injectable()
export class StockSubscriber {
  @Subscriber('stock', { topic: orderPlaced })
  async reserve(order: Order, { db }: TaskContext): Promise<string> {
    for (const [index, { sku, quantity }] of order.items.entries()) {
      // Thrown at the third item, it undoes the first two. Trying again would not help, so the task is dead at once.
      if (sku === 'unicorn') throw new UnrecoverableError('nobody has unicorns in stock');
      await db.query('insert into shop_reservation (order_id, line, sku, quantity) values ($1, $2, $3, $4)', [
        order.id,
        index + 1,
        sku,
        quantity,
      ]);
    }
    return `reserved ${order.items.length} item${order.items.length === 1 ? '' : 's'}`;
  }

  /** Runs when a reservation was given up: somebody has to call the customer. */
  @DeadSubscriber('stock')
  async giveUp(order: Order, { db }: TaskContext): Promise<string> {
    await db.query('update shop_order set needs_attention = $2 where id = $1', [
      order.id,
      'stock could not be reserved: call the customer',
    ]);
    return 'marked for attention';
  }
}
