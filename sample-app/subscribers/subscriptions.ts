import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database } from '../database/database.js';
import { orderPlaced } from '../orders/order.js';

/**
 * Who receives what is a table, not code: a row per subscription, here inserted at the first start. From then
 * on the rows are the operator's, who may switch one off (`ativo`) or add one while the shop runs.
 */
@Injectable()
export class Subscriptions implements OnModuleInit {
  constructor(private readonly database: Database) {}

  async onModuleInit(): Promise<void> {
    await this.database.query(
      `insert into shop_queue_subscriber (id, processo)
       select id, $1 from unnest($2::text[]) id
       on conflict (id) do nothing`,
      [orderPlaced, ['search-index', 'receipt', 'stock']],
    );
  }
}
