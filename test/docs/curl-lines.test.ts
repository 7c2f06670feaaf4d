import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OrderReport } from '../../sample-app/orders/order-reports.js';
import type { PlacedOrder } from '../../sample-app/orders/orders.service.js';
import { hasEnded, openShop, type Answer, type TestShop } from '../sample-app/shop.js';
import { blocksIn } from './documents.js';

const shopAddress = 'http://localhost:3000';
let shop: TestShop;

beforeAll(async () => {
  shop = await openShop();
});

afterAll(() => shop.close());

test('the curl lines of README do what it says', async () => {
  const lines = blocksIn('sh')
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => line.startsWith('curl '));
  const answers: Answer[] = [];
  for (const line of lines) {
    const answer = await run(line);
    answers.push(answer);
    // Whoever types has seen the deliveries end before the next line.
    if (answer.status === 201) await shop.orderWhen((answer.body as PlacedOrder).id, hasEnded);
  }
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200]);
  const [, tea, , unicorn] = answers.map(({ body }) => body as OrderReport);
  expect(tea).toMatchObject({
    id: 1,
    effects: { searchable: true, receiptSent: true, stockReserved: true },
    deliveries: [{ subscription: 'receipt' }, { subscription: 'search-index' }, { subscription: 'stock' }],
  });
  expect(unicorn).toMatchObject({ id: 2, customer: 'Zoë 🦄', effects: { stockReserved: false } });
  expect(unicorn?.needsAttention).not.toBeNull();
  expect(unicorn?.deliveries).toContainEqual(
    expect.objectContaining({ subscription: 'stock', dead: true, status: 'succeeded' }),
  );
});

/** Does what curl would; not every machine has it. */
async function run(line: string): Promise<Answer> {
  const [, flag, body = '', address = ''] = /^curl (?:(-d) '([^']*)' )?(\S+)$/.exec(line) ?? [];
  if (!address.startsWith(shopAddress)) throw new Error(`teach this test to read: ${line}`);
  const path = address.slice(shopAddress.length);
  return flag === '-d' ? shop.post(path, body, 'application/x-www-form-urlencoded') : shop.get(path);
}
