/**
 * The shop's own tables. Several shops may start at once: the lock lets one after the other look for what is
 * missing, and ends with the transaction that these statements are.
 */
export const createTables = `
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
`;
