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
    const [report] = await this.database.query<OrderReport>(findReport, [id]);
    return report;
  }
}

/**
 * The view has one row per task, in the state it is in now; the table behind it has one per attempt. All in one
 * statement, so that an effect and the success that was committed with it are seen together.
 */
const findReport = `
select o.id, o.customer, o.items, o.note, o.placed_at as "placedAt", o.publication_id as "publicationId",
  o.needs_attention as "needsAttention",
  json_build_object(
    'searchable', exists (select from shop_search_entry e where e.order_id = o.id),
    'receiptSent', exists (select from shop_receipt r where r.order_id = o.id),
    'stockReserved', exists (select from shop_reservation r where r.order_id = o.id),
    'surveySent', exists (select from shop_survey s where s.order_id = o.id)
  ) as effects,
  array(
    select json_build_object('subscription', t.subscription_id, 'dead', t.is_dead, 'status', t.status,
      'attempts', t.attempts, 'message', t.message)
    from shop_queue_tasks t
    where t.publication_id = o.publication_id
    order by t.subscription_id, t.is_dead
  ) as deliveries
from shop_order o
where o.id = $1`;
