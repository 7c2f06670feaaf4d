import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { useQueue } from '../worker/queue-bench.js';
import { act, ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp, type DashboardAppOptions } from './kit/dashboard-app.js';

const bench = useQueue();
const adapters = ['express', 'fastify'] as const;
let app: DashboardApp | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(options: DashboardAppOptions): Promise<string> {
  app = await startDashboardApp(bench.database.url, options);
  return app.url;
}

const reads = [
  '',
  '/assets/main.js',
  '/api/info',
  '/api/overview',
  '/api/stream',
  '/api/history',
  '/api/tasks',
  '/api/tasks/1',
  '/api/tasks/1/payload',
  '/api/subscriptions',
  '/api/subscriptions/x',
];

/** Status and headers, as soon as they come: a stream has no end. `fetch` sends neither Host nor what browsers say. */
function head(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, unknown>> }> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers: { connection: 'close', ...headers } }, (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
      response.destroy();
    })
      .on('error', reject)
      .end();
  });
}

test.each(adapters)(
  'pages of other sites read nothing of a dashboard on %s, though the application lets them read everything else',
  async (adapter) => {
    const url = await start({ adapter, cors: true });
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-origin, cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' },
    ];
    for (const path of reads) {
      for (const headers of foreign) {
        const { status } = await head(url + path, headers);
        expect(status, `for ${path} with ${JSON.stringify(headers)}`).toBe(403);
      }
    }
    expect((await head(`${url}/api/tasks`, foreign[0], 'HEAD')).status).toBe(403);
    const { body } = await ask(`${url}/api/tasks`, { headers: { origin: 'https://evil.example' } });
    expect(body).toEqual({
      code: 'ACTION_FORBIDDEN',
      message:
        "only the dashboard's own page may read this: it comes from another site, https://evil.example",
    });
  },
);

test.each(adapters)(
  'its own page, links to it, the address bar and programs read a dashboard on %s',
  async (adapter) => {
    const url = await start({ adapter });
    const own: readonly Readonly<Record<string, string>>[] = [
      {},
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      // A proxy that rewrites Host: the browser's word counts.
      { 'sec-fetch-site': 'same-origin', origin: 'https://ops.example' },
      { origin: new URL(url).origin },
    ];
    for (const headers of own) {
      expect((await head(url, headers)).status, `for ${JSON.stringify(headers)}`).toBe(200);
      expect((await head(`${url}/api/stream`, headers)).status, `for ${JSON.stringify(headers)}`).toBe(200);
    }
  },
);

test.each(adapters)(
  'every answer of a dashboard on %s has the same headers, streams and refusals too',
  async (adapter) => {
    const url = await start({ adapter });
    const answers = [
      ...(await Promise.all(reads.map((path) => head(url + path)))),
      await head(`${url}/api/stream`, { origin: 'https://evil.example' }),
      await head(`${url}/api/tasks?since=x`),
      await head(`${url}/assets/none.js`),
      await head(url, { 'x-real-ip': '203.0.113.5' }),
    ];
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': expect.stringContaining('no-store') as unknown,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
    expect(answers.map(({ status }) => status).slice(-4)).toEqual([403, 400, 404, 403]);
    const refused = await act(url, 'retry', { id: '1' }, { origin: 'https://evil.example' });
    expect([refused.status, refused.headers.get('x-frame-options')]).toEqual([403, 'DENY']);
  },
);

test.each(adapters)(
  'nobody sees a dashboard without guards on %s through a proxy, whatever that calls itself and whomever the application trusts',
  async (adapter) => {
    const url = await start({ adapter, trustProxy: true });
    const passedOn = [
      'forwarded',
      'x-forwarded-for',
      'X-Forwarded-Host',
      'x-forwarded-proto',
      'x-forwarded-port',
      'x-forwarded-server',
      'x_forwarded_for',
      'x-original-forwarded-for',
      'x-real-ip',
      'x-client-ip',
      'x-cluster-client-ip',
      'via',
      'cf-connecting-ip',
      'cf-ray',
      'cdn-loop',
      'true-client-ip',
      'fastly-client-ip',
      'fly-client-ip',
      'x-azure-clientip',
      'x-envoy-external-address',
      'x-vercel-id',
      'x-appengine-user-ip',
      'x-amzn-trace-id',
      'x-original-url',
      'tailscale-user-login',
    ];
    for (const name of passedOn) {
      // As if the proxy stood on the same machine, and wanted to be believed.
      for (const value of ['127.0.0.1', 'localhost']) {
        expect((await head(`${url}/api/tasks`, { [name]: value })).status, `for ${name}`).toBe(403);
      }
    }
    const { body } = await ask(`${url}/api/tasks`, { headers: { via: '1.1 proxy' } });
    expect(body['message']).toContain('The header via shows that a proxy forwarded this request.');
    const rebound = { host: 'evil.example', 'x-forwarded-host': 'localhost' };
    expect((await head(`${url}/api/tasks`, rebound)).status).toBe(403);
    expect((await head(`${url}/api/tasks`)).status).toBe(200);
  },
);

test.each(adapters)(
  'filters that no row can fit are refused on %s, and never reach the database',
  async (adapter) => {
    const url = await start({ adapter });
    const day = (name: string): string[] =>
      [
        '0',
        '2026',
        'yesterday',
        '2026-02-30',
        '2026-13-01',
        '0000-01-01T00:00:00Z',
        '+010000-01-01T00:00:00Z',
        '-000001-01-01T00:00:00Z',
        '2026-01-01T25:00:00Z',
        '2026-01-01T10:00:00+16:00',
        'Sun Nov 22 2026',
        '2026-01-01%00',
      ].map((value) => `tasks?${name}=${value.replace('+', '%2B')}`);
    const odd = [
      ...['topic', 'subscription', 'tenant', 'group', 'key', 'publication', 'message', 'status', 'after'].map(
        (name) => `tasks?${name}=a%00b`,
      ),
      ...day('since'),
      ...day('until'),
      'tasks?after=9999999999999999999',
      'tasks?tenant=9223372036854775808',
      'tasks?publication=9223372036854775808',
      'tasks?topic=a&topic=b',
      'history?topic=a%00b',
      'history?subscription=a%00b',
      'subscriptions/a%00b',
      'tasks/a%00b',
    ];
    for (const path of odd) {
      const { status, body } = await ask(`${url}/api/${path}`);
      expect([path, status, body['code']]).toEqual([path, 400, 'INPUT_INVALID']);
    }
    const fits = ['2026-02-28', '2024-02-29T10:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'];
    for (const value of fits)
      expect((await ask(`${url}/api/tasks?since=${value}`)).status, `for ${value}`).toBe(200);
  },
);
