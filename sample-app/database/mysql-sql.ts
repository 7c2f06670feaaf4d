import type { Delivery, OrderReport } from '../orders/order-reports.js';
import type { ShopSql } from './shop-sql.js';

/** The shop's SQL on MySQL and MariaDB. */
export const mysqlSql: ShopSql = {
  createTables: `
create table if not exists shop_order (
  id int not null auto_increment primary key,
  customer text not null,
  items json not null,
  note text,
  publication_id bigint,
  needs_attention text,
  placed_at datetime(6) not null default (utc_timestamp(6))
) default character set utf8mb4;

-- What the subscribers leave behind: at most one of each for an order.
create table if not exists shop_search_entry (
  order_id int not null primary key,
  words text not null,
  foreign key (order_id) references shop_order (id)
) default character set utf8mb4;

create table if not exists shop_receipt (
  order_id int not null primary key,
  sent_at datetime(6) not null default (utc_timestamp(6)),
  foreign key (order_id) references shop_order (id)
);

create table if not exists shop_reservation (
  order_id int not null,
  line int not null,
  sku text not null,
  quantity bigint not null,
  primary key (order_id, line),
  foreign key (order_id) references shop_order (id)
) default character set utf8mb4;

create table if not exists shop_survey (
  order_id int not null primary key,
  sent_at datetime(6) not null default (utc_timestamp(6)),
  foreign key (order_id) references shop_order (id)
)`,

  insertOrder: async (tx, values) => {
    await tx.query('insert into shop_order (customer, items, note) values (?, ?, ?)', values);
    const { rows } = await tx.query('select last_insert_id() as id');
    return Number(rows[0]!['id']);
  },

  notePublication: 'update shop_order set publication_id = ? where id = ?',
  insertSearchEntry: 'insert into shop_search_entry (order_id, words) values (?, ?)',
  insertReceipt: 'insert into shop_receipt (order_id) values (?)',
  insertReservation: 'insert into shop_reservation (order_id, line, sku, quantity) values (?, ?, ?, ?)',
  noteAttention: 'update shop_order set needs_attention = ? where id = ?',
  insertSurvey: 'insert into shop_survey (order_id) values (?)',

  // As on PostgreSQL, but there are no arrays: the deliveries are the text of one.
  findReport: `
select o.id, o.customer, cast(o.items as char) as items, o.note, o.placed_at as placedAt,
  cast(o.publication_id as char) as publicationId, o.needs_attention as needsAttention,
  exists (select 1 from shop_search_entry e where e.order_id = o.id) as searchable,
  exists (select 1 from shop_receipt r where r.order_id = o.id) as receiptSent,
  exists (select 1 from shop_reservation r where r.order_id = o.id) as stockReserved,
  exists (select 1 from shop_survey s where s.order_id = o.id) as surveySent,
  (
    select concat('[', group_concat(
      json_object('subscription', t.subscription_id, 'dead', t.is_dead, 'status', t.status,
        'attempts', t.attempts, 'message', t.message)
      order by t.subscription_id, t.is_dead separator ','), ']')
    from shop_queue_tasks t
    where t.publication_id = o.publication_id
  ) as deliveries
from shop_order o
where o.id = ?`,

  readReport: ({ items, searchable, receiptSent, stockReserved, surveySent, deliveries, ...order }) => ({
    ...(order as Pick<
      OrderReport,
      'id' | 'customer' | 'note' | 'placedAt' | 'publicationId' | 'needsAttention'
    >),
    items: JSON.parse(String(items)) as OrderReport['items'],
    effects: {
      searchable: Boolean(searchable),
      receiptSent: Boolean(receiptSent),
      stockReserved: Boolean(stockReserved),
      surveySent: Boolean(surveySent),
    },
    deliveries: readDeliveries(deliveries),
  }),
};

/** True and false are numbers here. */
function readDeliveries(text: unknown): readonly Delivery[] {
  if (typeof text !== 'string') return [];
  const deliveries = JSON.parse(text) as readonly (Omit<Delivery, 'dead'> & { readonly dead: number })[];
  return deliveries.map((delivery) => ({ ...delivery, dead: delivery.dead === 1 }));
}
