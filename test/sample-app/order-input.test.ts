import { afterAll, beforeAll, expect, test } from 'vitest';
import { openShop, type TestShop } from './shop.js';

let shop: TestShop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

const order = (changes: object): object => ({
  customer: 'Ana',
  items: [{ sku: 'tea', quantity: 2 }],
  ...changes,
});
const item = (changes: object): object => order({ items: [{ sku: 'tea', quantity: 2, ...changes }] });

const refused: [name: string, body: unknown, message: string][] = [
  ['nothing', '', 'there is nothing: send { "customer"'],
  ['blanks', ' \n', 'there is nothing'],
  ['broken JSON', '{"customer": "Ana', 'this is not JSON (Unterminated string'],
  ['a form', 'customer=Ana&sku=tea', 'this is not JSON'],
  ['a number', 7, 'an order must be a JSON object; got 7'],
  ['null', 'null', 'an order must be a JSON object; got null'],
  ['a list', [order({})], 'an order must be a JSON object; got [{"customer":"Ana"'],
  ['an unknown field', order({ costumer: 1 }), 'an order has no field "costumer": it has customer, items'],
  ['no customer', { items: [] }, 'customer must be text of 1 to 200 characters; got nothing'],
  ['a number as customer', order({ customer: 7 }), 'customer must be text of 1 to 200 characters; got 7'],
  ['an empty customer', order({ customer: '' }), 'got ""'],
  ['a blank customer', order({ customer: ' ' }), 'got " "'],
  ['a long customer', order({ customer: 'x'.repeat(201) }), 'xxx…'],
  ['NUL', order({ customer: 'A\0na' }), 'customer must not hold NUL'],
  ['half an emoji', order({ customer: 'Ana \ud83e' }), 'or half of a character'],
  ['no items', { customer: 'Ana' }, 'items must be a list of 1 to 1000'],
  ['items that are no list', order({ items: 'tea' }), 'got "tea"'],
  ['an empty list of items', order({ items: [] }), 'got 0 of them'],
  ['too many items', order({ items: Array(1001).fill({}) }), 'got 1001 of them'],
  ['an item that is no object', order({ items: ['tea'] }), 'items[0] must be a JSON object; got "tea"'],
  ['an item without sku', order({ items: [{ quantity: 1 }] }), 'items[0].sku must be text of 1 to 64'],
  ['an unknown field of an item', item({ price: 1 }), 'items[0] has no field "price"'],
  ['no quantity', order({ items: [{ sku: 'tea' }] }), 'items[0].quantity must be a whole number'],
  ['quantity 0', item({ quantity: 0 }), 'items[0].quantity must be a whole number from 1 to'],
  ['a negative quantity', item({ quantity: -1 }), 'got -1'],
  ['a broken quantity', item({ quantity: 1.5 }), 'got 1.5'],
  ['a quantity in text', item({ quantity: '1' }), 'got "1"'],
  ['a quantity that is not exact', item({ quantity: 2 ** 53 }), 'got 9007199254740992'],
  ['an endless quantity', '{"customer":"A","items":[{"sku":"a","quantity":1e999}]}', 'got null'],
  ['null as note', order({ note: null }), 'note must be text of 1 to 2000 characters, or left out; got null'],
  ['a long note', order({ note: 'x'.repeat(2001) }), 'note must be text'],
];

test.each(refused)('%s is refused with a text that helps', async (_, body, message) => {
  const answer = await shop.post<{ message: string }>('/orders', body);
  expect(answer).toMatchObject({ status: 400, body: { statusCode: 400, error: 'Bad Request' } });
  expect(answer.body.message).toContain(message);
  expect(answer.body.message.length).toBeLessThan(400);
  expect((await shop.database.pool.query('select from shop_order')).rowCount).toBe(0);
  expect((await shop.database.pool.query('select from shop_queue')).rowCount).toBe(0);
});

test('an order that is too large is refused', async () => {
  const answer = await shop.post('/orders', order({ note: 'x'.repeat(200_000) }));
  expect(answer).toEqual({ status: 413, body: { statusCode: 413, message: 'request entity too large' } });
});

test('the content type does not matter', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8']) {
    expect((await shop.post('/orders', JSON.stringify(order({})), type)).status).toBe(201);
  }
});

test.each(['abc', '-1', '1.5', '1e3', '9999999999', "1'"])('%s is no id of an order', async (id) => {
  const answer = await shop.get(`/orders/${encodeURIComponent(id)}`);
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ message: expect.stringContaining(`got "${id}"`) });
});

test('an order that does not exist is not found', async () => {
  const answer = await shop.get('/orders/999999999');
  expect(answer).toMatchObject({ status: 404, body: { message: 'there is no order 999999999' } });
});
