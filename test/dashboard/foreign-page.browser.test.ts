import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDashboard } from './kit/dashboard-bench.js';
import { seen } from './kit/seen.js';

const bench = useDashboard({ cors: true });
let server: Server;
let port: number;

beforeAll(async () => {
  const page = (url: string): string => `<!doctype html><title>evil</title><a href="${url}">queues</a>`;
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(bench.app.url));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each(['localhost', '127.0.0.1'])(
  'a page of %s on another port reads nothing, though CORS is on; its link opens the dashboard, which is live',
  async (host) => {
    const page = await bench.newPage();
    await page.goto(`http://${host}:${port}/`);
    const statuses = await page.evaluate<number[]>(
      `Promise.all(['', '/api/tasks', '/api/overview', '/api/stream'].map((path) =>
        fetch(${JSON.stringify(bench.app.url)} + path).then(({ status }) => status)))`,
    );
    expect(statuses).toEqual([403, 403, 403, 403]);
    // What Chromium says of the refusals.
    bench.takeFaults();
    await page.getByRole('link', { name: 'queues' }).click();
    await seen(page.getByText('Live', { exact: true }));
    await page.reload();
    await seen(page.getByText('Live', { exact: true }));
    const elsewhere = bench
      .takeFaults()
      .filter((fault) => !fault.startsWith(`request elsewhere: ${bench.app.url}`));
    expect(elsewhere).toEqual([]);
  },
);
