import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import type { Order } from './order.js';

/** What became of an order for one subscription. `dead` ones were started when all attempts had failed. */
export interface Delivery {
  readonly subscription: string;
  readonly dead: boolean;
  readonly status: string;
  readonly attempts: number;
  readonly message: string | null;
}

/** An order, what its subscribers left behind, and how they fared. */
export interface OrderReport extends Omit<Order, 'note'> {
  readonly note: string | null;
  readonly placedAt: Date;
  readonly publicationId: string;
  readonly needsAttention: string | null;
  readonly effects: {
    readonly searchable: boolean;
    readonly receiptSent: boolean;
    readonly stockReserved: boolean;
    readonly surveySent: boolean;
  };
  readonly deliveries: readonly Delivery[];
}

/** Looks orders up. What the queue did with them is a query like any other. */
@Injectable()
export class OrderReports {
  constructor(private readonly database: Database) {}

  async find(id: number): Promise<OrderReport | undefined> {
    const { sql } = this.database;
    const [row] = await this.database.query(sql.findReport, [id]);
    return row && sql.readReport(row);
  }
}
