import { Injectable } from '@nestjs/common';
import { QueueClient, type SqlHandle } from '../../lib/index.js';
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

  private async insert(input: OrderInput, tx: SqlHandle): Promise<PlacedOrder> {
    const { customer, items, note } = input;
    const values = [customer, JSON.stringify(items), note ?? null];
    const id = await this.database.sql.insertOrder(tx, values);
    const publicationId = await this.queue.insertTaskPubSub(
      { topic: orderPlaced, payload: { id, ...input }, externalKey: `order-${id}` },
      { tx },
    );
    await tx.query(this.database.sql.notePublication, [publicationId, id]);
    return { id, publicationId };
  }
}
