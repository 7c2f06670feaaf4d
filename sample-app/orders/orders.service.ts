import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { QueueClient } from '../../lib/index.js';
import { Database } from '../database/database.js';
import { orderPlaced, type OrderInput } from './order.js';

/** Where to find an order, and the publication that tells the subscribers of it. */
export interface PlacedOrder {
  readonly id: number;
  readonly publicationId: string;
}

/** Places orders. An order and its publication are one commit: neither ever exists without the other. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly database: Database,
    private readonly queue: QueueClient,
  ) {}

  place(input: OrderInput): Promise<PlacedOrder> {
    return this.database.transaction((tx) => this.insert(input, tx));
  }

  /** All of them, or none. */
  placeMany(inputs: readonly OrderInput[]): Promise<PlacedOrder[]> {
    return this.database.transaction(async (tx) => {
      const placed: PlacedOrder[] = [];
      for (const input of inputs) placed.push(await this.insert(input, tx));
      return placed;
    });
  }

  private async insert(input: OrderInput, tx: PoolClient): Promise<PlacedOrder> {
    const id = await this.insertOrder(input, tx);
    const publicationId = await this.queue.insertTaskPubSub(
      { topic: orderPlaced, payload: { id, ...input }, externalKey: `order-${id}` },
      { tx },
    );
    await tx.query('update shop_order set publication_id = $2 where id = $1', [id, publicationId]);
    return { id, publicationId };
  }

  private async insertOrder({ customer, items, note }: OrderInput, tx: PoolClient): Promise<number> {
    const { rows } = await tx.query<{ id: number }>(
      'insert into shop_order (customer, items, note) values ($1, $2, $3) returning id',
      [customer, JSON.stringify(items), note],
    );
    return rows[0]!.id;
  }
}
