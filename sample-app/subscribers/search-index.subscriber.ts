import { Injectable } from '@nestjs/common';
import { Subscriber, type TaskContext } from '../../lib/index.js';
import { Database } from '../database/database.js';
import { orderPlaced, type Order } from '../orders/order.js';

/** Makes an order searchable. The entry and the delivery's success are one commit: exactly one entry, ever. */
@Injectable()
export class SearchIndexSubscriber {
  constructor(private readonly database: Database) {}

  @Subscriber('search-index', { topic: orderPlaced })
  async index(order: Order, { db }: TaskContext): Promise<string> {
    const words = wordsOf(order);
    await db.query(this.database.sql.insertSearchEntry, [order.id, words.join(' ')]);
    return `indexed ${words.length} words`;
  }
}

function wordsOf({ customer, items, note = '' }: Order): string[] {
  const text = [customer, note, ...items.map(({ sku }) => sku)].join(' ');
  return [
    ...new Set(text.toLowerCase().match(/[\p{Letter}\p{Mark}\p{Number}\p{Emoji_Presentation}]+/gu) ?? []),
  ];
}
