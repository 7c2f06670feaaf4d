import { readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImportReport } from '../../sample-app/orders/order-import.js';
import { readLines, type Line } from '../../sample-app/orders/read-lines.js';
import { openShop, type TestShop } from './shop.js';

let shop: TestShop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

const line = (customer: string): string => JSON.stringify({ customer, items: [{ sku: 'tea', quantity: 1 }] });

async function importLines(body: string | Buffer, contentType = 'application/x-ndjson') {
  const { status, body: report } = await shop.post<ImportReport>('/orders/import', body, contentType);
  return { status, ...report };
}

async function customersLike(pattern: string): Promise<string[]> {
  const { rows } = await shop.database.pool.query<{ customer: string }>(
    'select customer from shop_order where customer like $1 order by id',
    [pattern],
  );
  return rows.map(({ customer }) => customer);
}

test('good lines are imported and bad ones reported by their number', async () => {
  const lines = [line('good 1'), '', '{"customer":', line('good 2'), line(''), '  ', line('good 3')];
  const report = await importLines(lines.join('\r\n'));
  expect(report).toMatchObject({ status: 200, imported: 3, rejected: 2 });
  expect(report.ids).toHaveLength(3);
  expect(report.errors).toEqual([
    { line: 3, message: expect.stringContaining('this is not JSON') },
    { line: 5, message: 'customer must be text of 1 to 200 characters; got ""' },
  ]);
  expect(report.message).toContain('lines with errors were left out');
  expect(await customersLike('good%')).toEqual(['good 1', 'good 2', 'good 3']);
});

test('every order of the file is imported, in the order of its lines, whatever the content type', async () => {
  const file = await readFile(join(import.meta.dirname, '../../sample-app/orders.ndjson'));
  const orders = file
    .toString()
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as object);
  const types = [
    'application/x-ndjson',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json',
  ];
  for (const type of types) {
    const { status, imported, rejected, ids } = await importLines(file, type);
    expect({ status, imported, rejected }).toEqual({ status: 200, imported: orders.length, rejected: 0 });
    const { rows } = await shop.database.pool.query(
      `select jsonb_strip_nulls(jsonb_build_object('customer', customer, 'items', items, 'note', note)) as order
       from unnest($1::int[]) with ordinality wanted (id, position) join shop_order using (id) order by position`,
      [ids],
    );
    expect(rows.map((row) => row.order)).toEqual(orders);
  }
});

test('many bad lines are counted, and the first hundred listed', async () => {
  const report = await importLines('[]\n'.repeat(1_000));
  expect(report).toMatchObject({ status: 200, imported: 0, rejected: 1_000, ids: [] });
  expect(report.errors).toHaveLength(100);
  expect(report.errors.at(-1)?.line).toBe(100);
});

test('no lines are refused', async () => {
  expect(await importLines('\n\n \n')).toMatchObject({ status: 400, message: /^there are no lines/ });
});

test('a batch that cannot be stored ends the import, and the answer says what is placed', async () => {
  await shop.database.pool.query(`alter table shop_order add constraint no_evil check (customer <> 'evil')`);
  const lines = Array.from({ length: 250 }, (_, index) => line(index === 180 ? 'evil' : `kept ${index}`));
  const report = await importLines(lines.join('\n'));
  expect(report).toMatchObject({
    status: 503,
    imported: 100,
    message: expect.stringContaining('interrupted'),
  });
  expect(report.ids).toHaveLength(100);
  expect(await customersLike('kept%')).toHaveLength(100);
});

test('a client that goes away leaves whole batches, and a shop that works', async () => {
  const { port } = shop.app.getHttpServer().address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  const lines = Array.from({ length: 150 }, (_, index) => `${line(`gone ${index}`)}\n`).join('');
  socket.write(
    'POST /orders/import HTTP/1.1\r\nhost: shop\r\ncontent-length: 1000000\r\n' +
      `content-type: application/x-ndjson\r\n\r\n${lines}`,
  );
  await expect.poll(() => customersLike('gone%'), { timeout: 10_000 }).toHaveLength(100);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.destroy();
  await closed;
  expect((await shop.get('/health')).status).toBe(200);
  expect(await customersLike('gone%')).toHaveLength(100);
});

test('lines are found wherever the stream is cut, and one at a time is held', async () => {
  const text = `\ufeff${line('Zoë 👩‍🚀')}\n\n${'x'.repeat(100_001)}\n${line('\u2028')}\r\n`;
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe])]);
  const whole = await read(bytes, bytes.length);
  expect(whole).toEqual([
    { number: 1, text: line('Zoë 👩‍🚀') },
    { number: 3, text: '', problem: expect.stringContaining('more than 100000 bytes') },
    { number: 4, text: `${line('\u2028')}\r` },
    { number: 5, text: '', problem: expect.stringContaining('not UTF-8') },
  ]);
  for (const size of [1, 2, 3, 7, 1_000]) expect(await read(bytes, size)).toEqual(whole);
});

async function read(bytes: Buffer, chunkSize: number): Promise<Line[]> {
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
  }
  const lines: Line[] = [];
  for await (const one of readLines(chunks())) lines.push(one);
  return lines;
}
