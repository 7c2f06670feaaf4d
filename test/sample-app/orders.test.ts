import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Delivery } from '../../sample-app/orders/order-reports.js';
import { hasEnded, openShop, type TestShop } from './shop.js';

let shop: TestShop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

const tea = { customer: 'Ana', items: [{ sku: 'tea', quantity: 2 }] };

/** Ids are drawn one after the other: places orders until one has an id for which the mail server is, or is not, busy. */
async function placeWithReceipt(busy: boolean): Promise<number> {
  for (;;) {
    const { id } = await shop.place(tea);
    if ((id % 3 === 0) === busy) return id;
  }
}

const inShort = ({ subscription, dead, status, attempts }: Delivery): string =>
  `${subscription}${dead ? ' (dead)' : ''} ${status} ${attempts}`;

test('an order that is placed reaches every subscription', async () => {
  const id = await placeWithReceipt(false);
  const report = await shop.orderWhen(id, hasEnded);
  expect(report).toMatchObject({ id, ...tea, note: null, needsAttention: null });
  expect(report.effects).toEqual({
    searchable: true,
    receiptSent: true,
    stockReserved: true,
    surveySent: true,
  });
  expect(report.deliveries).toEqual([
    {
      subscription: 'receipt',
      dead: false,
      status: 'succeeded',
      attempts: 1,
      message: 'receipt sent to Ana',
    },
    {
      subscription: 'search-index',
      dead: false,
      status: 'succeeded',
      attempts: 1,
      message: 'indexed 2 words',
    },
    { subscription: 'stock', dead: false, status: 'succeeded', attempts: 1, message: 'reserved 1 item' },
  ]);
});

test('a receipt that fails is sent by a later attempt', async () => {
  const id = await placeWithReceipt(true);
  const report = await shop.orderWhen(id, hasEnded);
  expect(report.effects).toMatchObject({ receiptSent: true, surveySent: true });
  expect(report.deliveries.map(inShort)).toContain('receipt succeeded 3');
  const { rows } = await shop.database.pool.query(
    `select tentativa, status, mensagem from shop_queue
     where publication_id = $1 and subscriber_id = 'receipt' order by tentativa`,
    [report.publicationId],
  );
  expect(rows).toEqual([
    { tentativa: 1, status: 'falha', mensagem: 'the mail server is busy (will be tried again)' },
    { tentativa: 2, status: 'falha', mensagem: 'the mail server is busy (will be tried again)' },
    { tentativa: 3, status: 'sucesso', mensagem: 'receipt sent to Ana' },
  ]);
});

test('an order for a unicorn ends in the dead subscriber', async () => {
  const { id } = await shop.place({
    customer: 'Zoë',
    items: [
      { sku: 'tea', quantity: 1 },
      { sku: 'unicorn', quantity: 1 },
    ],
  });
  const report = await shop.orderWhen(id, hasEnded);
  expect(report.deliveries.map(inShort)).toEqual(
    expect.arrayContaining(['stock failed 1', 'stock (dead) succeeded 1', 'search-index succeeded 1']),
  );
  expect(report.deliveries).toHaveLength(4);
  expect(report.needsAttention).toBe('stock could not be reserved: call the customer');
  // The tea that came before the unicorn was given back with it.
  expect(report.effects).toMatchObject({ stockReserved: false, receiptSent: true });
});

test('any text comes back as it was sent', async () => {
  const order = {
    customer: '👩‍👩‍👧‍👦 Zoë Müller-Ñandú שרה كريم',
    items: [
      { sku: '日本茶', quantity: Number.MAX_SAFE_INTEGER },
      { sku: "'; drop table shop_order; --", quantity: 1 },
    ],
    note: 'à livrer\n“demain” \\ 𝄞 \u2028',
  };
  const { id } = await shop.place(order);
  const report = await shop.orderWhen(id, hasEnded);
  expect(report).toMatchObject(order);
  const { rows } = await shop.database.pool.query(
    'select quantity, sku from shop_reservation where order_id = $1 order by line',
    [id],
  );
  expect(rows).toEqual([
    { quantity: String(Number.MAX_SAFE_INTEGER), sku: '日本茶' },
    { quantity: '1', sku: "'; drop table shop_order; --" },
  ]);
});

test('a note may be empty, and is not the same as none', async () => {
  const { id } = await shop.place({ ...tea, note: '' });
  expect((await shop.get(`/orders/${id}`)).body).toMatchObject({ note: '' });
});

test('when the publication cannot be inserted there is no order', async () => {
  await shop.database.pool.query(
    `alter table shop_queue add constraint refused check (payload not like '%Refused by the queue%')`,
  );
  const answer = await shop.post('/orders', { ...tea, customer: 'Refused by the queue' });
  expect(answer.status).toBe(500);
  await expectNothingOf('Refused by the queue');
});

test('when the order cannot be committed there is no publication', async () => {
  await shop.database.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused at the commit'; end $$;
    create constraint trigger refused after insert on shop_order deferrable initially deferred
    for each row when (new.customer = 'Refused at the commit') execute function refuse()`);
  const answer = await shop.post('/orders', { ...tea, customer: 'Refused at the commit' });
  expect(answer.status).toBe(500);
  await expectNothingOf('Refused at the commit');
});

async function expectNothingOf(customer: string): Promise<void> {
  const { rows } = await shop.database.pool.query(
    `select (select count(*)::int from shop_order where customer = $1) as orders,
       (select count(*)::int from shop_queue where payload like '%' || $1 || '%') as tasks`,
    [customer],
  );
  expect(rows).toEqual([{ orders: 0, tasks: 0 }]);
}
