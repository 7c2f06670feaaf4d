import { request } from 'node:http';
import { Inject, Injectable, Module, type CanActivate } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, expect, test, vi } from 'vitest';
import { QueueClient, QueueModule } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { act, ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp, type DashboardAppOptions } from './kit/dashboard-app.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
const adapters = ['express', 'fastify'] as const;
let open: DashboardApp[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(open.map((app) => app.close()));
  open = [];
});

async function start(options: DashboardAppOptions = {}): Promise<DashboardApp> {
  const app = await startDashboardApp(bench.database.url, options);
  open.push(app);
  return app;
}

/** With a path as it stands, and any Host: `fetch` would tidy both up. */
function askRaw(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers: { connection: 'close', ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test.each(adapters)(
  '%s serves the page below a prefix, with and without a slash, from its own origin only',
  async (adapter) => {
    const { url } = await start({ adapter, globalPrefix: 'internal/ops', dashboard: { path: '/q/board' } });
    expect(new URL(url).pathname).toBe('/internal/ops/q/board');
    for (const path of ['', '/']) {
      const { status, headers, text } = await ask(url + path);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(text).not.toMatch(/https?:\/\//);
    }
    const version = /assets\/(v-\w+)\//.exec((await ask(url)).text)?.[1] ?? '';
    const sizes: number[] = [];
    for (const [accepted, encoding] of [
      ['identity', null],
      ['gzip, br;q=0', 'gzip'],
      ['gzip, deflate, br', 'br'],
    ] as const) {
      const headers = { 'accept-encoding': accepted };
      const script = await ask(`${url}/assets/${version}/main.js`, { headers });
      expect(script).toMatchObject({ status: 200, text: expect.stringContaining('import') });
      expect(script.headers.get('content-encoding')).toBe(encoding);
      expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(script.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
      expect(script.headers.get('vary')).toContain('Accept-Encoding');
      sizes.push(Number(script.headers.get('content-length')));
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    // That of another version of the library, which serves the same page beside this one: nobody may keep what it gets.
    for (const path of ['v-0123456789abcdef/main.js', 'main.js', 'v-0/pt.js']) {
      const other = await ask(`${url}/assets/${path}`);
      expect([other.status, other.headers.get('cache-control')], `for ${path}`).toEqual([200, 'no-store']);
    }
    for (const file of [
      'none.js',
      '..%2F..%2Fdashboard.js',
      '%2e%2e/api.js',
      'tsconfig.json',
      'messages/..',
    ]) {
      expect((await ask(`${url}/assets/${file}`)).status, `for ${file}`).toBe(404);
    }
    expect((await ask(`${url}/api/info`)).body).toMatchObject({
      queue: 'default',
      table: expect.stringMatching(/\.tasks$/),
      publications: true,
    });
  },
);

test.each(adapters)('%s serves it outside of the prefix where that excludes it', async (adapter) => {
  const { origin } = await start({
    adapter,
    configure: (app) => app.setGlobalPrefix('internal', { exclude: ['queues', 'queues/{*path}'] }),
  });
  for (const path of [
    '/queues',
    '/queues/',
    '/queues/?key=1',
    '/queues/assets/main.js',
    '/queues/api/info',
  ]) {
    expect((await ask(origin + path)).status, `for ${path}`).toBe(200);
  }
  expect((await ask(`${origin}/internal/queues/`)).status).toBe(404);
  expect(await act(`${origin}/queues`, 'insert', { topic: 'paper' })).toMatchObject({ status: 200 });
});

test('fastify that ignores slashes at the end serves the page with and without', async () => {
  const fastify = { routerOptions: { ignoreTrailingSlash: true } };
  const { url } = await start({ adapter: 'fastify', fastify, globalPrefix: 'internal' });
  for (const path of ['', '/']) expect((await ask(url + path)).status, `for ${path}`).toBe(200);
});

@Injectable()
class Staff {
  readonly header = 'x-staff';
}
@Module({ providers: [Staff], exports: [Staff] })
class StaffModule {}
@Injectable()
class StaffGuard implements CanActivate {
  constructor(@Inject(Staff) private readonly staff: Staff) {}
  canActivate(context: { switchToHttp(): { getRequest(): { headers: Record<string, unknown> } } }): boolean {
    return context.switchToHttp().getRequest().headers[this.staff.header] === 'ana';
  }
}

test.each(adapters)(
  'a guard on %s is asked for every file, answer and action, however its address is written',
  async (adapter) => {
    const { url } = await start({
      adapter,
      dashboard: { guards: [StaffGuard], imports: [StaffModule], actions: true },
    });
    const headers = { 'x-staff': 'ana' };
    expect((await ask(url, { headers })).status).toBe(200);
    expect((await ask(`${url}/api/overview`, { headers })).status).toBe(200);
    const reads = [
      '',
      '/',
      '/assets/main.js',
      '/api/info',
      '/api/overview',
      '/api/stream',
      '/api/tasks',
      '/api/tasks/1',
      '/api/tasks/1/payload',
      '/api/subscriptions',
      '/api/subscriptions/x',
      '/api/history',
    ];
    for (const path of reads) {
      expect(await askRaw(url, `/queues${path}`), `for ${path}`).toBe(403);
      expect(await askRaw(url, `/queues${path}`, {}, 'HEAD'), `for ${path}`).toBeGreaterThanOrEqual(403);
    }
    const disguised = [
      '/%71ueues/api/tasks',
      '//queues/api/tasks',
      '/queues//api/tasks',
      '/QUEUES/api/tasks',
      '/queues/api/tasks/',
      '/queues/api/%74asks',
      '/queues/./api/tasks',
      '/queues;x/api/tasks',
      '/queues/api/tasks%2f1',
    ];
    for (const path of disguised) expect(await askRaw(url, path), `for ${path}`).toBeGreaterThanOrEqual(400);
    for (const action of ['retry', 'pause', 'retry-all/count', 'ping']) {
      expect(await act(url, action, { id: '1' }), `for ${action}`).toMatchObject({ status: 403 });
    }
  },
);

test('without guards only this machine may see it, by its own name, and nobody through a proxy', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
    expect(await askRaw(url, '/queues', { host }), `for ${host}`).toBe(200);
  }
  for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example']) {
    expect(await askRaw(url, '/queues', { host }), `for ${host}`).toBeGreaterThanOrEqual(400);
  }
});

test('outside development an application does not start with a dashboard that nobody guards', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  await expect(start()).rejects.toThrow(/guards: \[StaffGuard\]/);
  await expect(start({ dashboard: { guards: [StaffGuard], imports: [StaffModule] } })).resolves.toBeDefined();
});

test('an application without HTTP has the same module, and serves nothing', async () => {
  @Module({
    imports: [
      QueueModule.forRoot({ connection: bench.database.url, table: 'tasks', worker: false, dashboard: {} }),
    ],
  })
  class WorkerModule {}
  const app = await NestFactory.createApplicationContext(WorkerModule, {
    logger: false,
    abortOnError: false,
  });
  expect(await app.get(QueueClient).insertTask({ topic: 'a' })).toEqual(expect.any(String));
  await app.close();
});

test('two queues have two dashboards, with options from a provider too; a path that is said in the wrong place is refused', async () => {
  const connection = bench.database.url;
  @Module({
    imports: [
      QueueModule.forRoot({ connection, table: 'tasks', worker: false, dashboard: { path: 'one' } }),
      QueueModule.forRootAsync({
        name: 'other',
        dashboard: { path: 'two' },
        useFactory: () => ({ connection, table: 'other', worker: false }),
      }),
    ],
  })
  class ShopModule {}
  const app = await NestFactory.create(ShopModule, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const origin = await app.getUrl();
  expect((await ask(`${origin}/one/api/info`)).body).toMatchObject({
    queue: 'default',
    table: expect.stringMatching(/\.tasks$/),
  });
  expect((await ask(`${origin}/two/api/info`)).body).toMatchObject({
    queue: 'other',
    table: expect.stringMatching(/\.other$/),
    queues: [
      { name: 'default', path: 'one' },
      { name: 'other', path: 'two' },
    ],
  });
  await app.close();
  const wrong = QueueModule.forRootAsync({
    useFactory: () => ({ connection, table: 'tasks', worker: false, dashboard: {} }) as object,
  });
  await expect(
    NestFactory.create({ module: StaffModule, imports: [wrong] }, { logger: false, abortOnError: false }),
  ).rejects.toThrow(/not from useFactory/);
});

test.each(adapters)('what runs as %s ends its live streams when it closes', async (adapter) => {
  const app = await startDashboardApp(bench.database.url, { adapter });
  const answer = await fetch(`${app.url}/api/stream`);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('event: overview')) text += (await reader.read()).value ?? '';
  await app.close();
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  expect(app.streams()).toBe(0);
});

testOnPostgres('all who watch share one look, and nobody looks when they have gone', async () => {
  const looks = async (): Promise<number> => {
    const { rows } = await bench.pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and application_name = 'tarefa tasks dashboard'`,
    );
    return rows[0]?.n ?? 0;
  };
  await until(async () => (await looks()) === 0, 'the end of those of other tests');
  const app = await start();
  const readers = await Promise.all(
    Array.from({ length: 3 }, async () => (await fetch(`${app.url}/api/stream`)).body!.getReader()),
  );
  for (const reader of readers) await reader.read();
  expect(await looks()).toBeLessThanOrEqual(2);
  await Promise.all(readers.map((reader) => reader.cancel()));
  await vi.waitFor(() => expect(app.streams()).toBe(0), { timeout: 10_000 });
});
