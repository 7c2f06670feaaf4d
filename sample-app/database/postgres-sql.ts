import type { OrderReport } from '../orders/order-reports.js';
import type { ShopSql } from './shop-sql.js';

/** The shop's SQL on PostgreSQL. */
export const postgresSql: ShopSql = {
  // The lock lets one shop after the other look for what is missing, and ends with the transaction that these statements are.
  createTables: `
select pg_advisory_xact_lock(hashtext('shop tables'));

create table if not exists shop_order (
  id integer generated always as identity primary key,
  customer text not null,
  items jsonb not null,
  note text,
  publication_id bigint,
  needs_attention text,
  placed_at timestamptz not null default now()
);

-- What the subscribers leave behind: at most one of each for an order.
create table if not exists shop_search_entry (
  order_id integer primary key references shop_order,
  words text not null
);

create table if not exists shop_receipt (
  order_id integer primary key references shop_order,
  sent_at timestamptz not null default now()
);

create table if not exists shop_reservation (
  order_id integer references shop_order,
  line integer,
  sku text not null,
  quantity bigint not null,
  primary key (order_id, line)
);

create table if not exists shop_survey (
  order_id integer primary key references shop_order,
  sent_at timestamptz not null default now()
);
`,

  insertOrder: async (tx, values) => {
    const text = 'insert into shop_order (customer, items, note) values ($1, $2, $3) returning id';
    const { rows } = await tx.query(text, values);
    return Number(rows[0]!['id']);
  },

  notePublication: 'update shop_order set publication_id = $1 where id = $2',
  insertSearchEntry: 'insert into shop_search_entry (order_id, words) values ($1, $2)',
  insertReceipt: 'insert into shop_receipt (order_id) values ($1)',
  insertReservation: 'insert into shop_reservation (order_id, line, sku, quantity) values ($1, $2, $3, $4)',
  noteAttention: 'update shop_order set needs_attention = $1 where id = $2',
  insertSurvey: 'insert into shop_survey (order_id) values ($1)',

  // The view has one row per task, in the state it is in now; the table behind it has one per attempt. All in one
  // statement, so that an effect and the success that was committed with it are seen together.
  findReport: `
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
where o.id = $1`,

  readReport: (row) => row as unknown as OrderReport,
};
