import type { ServerResponse } from 'node:http';
import {
  Catch,
  ForbiddenException,
  UnauthorizedException,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { subscribe } from '../support/subscriptions.js';
import type { DashboardApp } from './kit/dashboard-app.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { startReverseProxy } from './kit/proxy.js';
import { confirm, gone, part, row, says, seen } from './kit/seen.js';
import { seedTask } from './kit/seed.js';

const bench = useDashboard();
let id = '';

beforeAll(async () => {
  await subscribe(bench.database, [{ id: 'crm' }]);
  id = await seedTask(bench.pool, { topic: 'send-receipt', payload: '{"order":7}' });
});

/** Everything that a page asks its server for works from where it was opened: files, data, the stream, actions. */
async function walk(page: Page): Promise<void> {
  await seen(page.getByText('Live', { exact: true }));
  await confirm(page, page.getByRole('button', { name: 'Pause send-receipt' }), 'Pause');
  await confirm(
    page,
    row(page, /^send-receipt/).getByRole('button', { name: 'Resume send-receipt' }),
    'Resume',
  );
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByRole('link', { name: id, exact: true }).click();
  await page.getByRole('button', { name: 'Show payload' }).click();
  await says(part(page, 'Payload').getByRole('treeitem'), 'order: 7');
  await page.getByRole('link', { name: 'Subscriptions', exact: true }).click();
  await page.getByRole('link', { name: 'crm', exact: true }).click();
  await seen(part(page, 'Last deliveries'));
  await page.reload();
  await seen(page.getByRole('heading', { name: 'crm', level: 1 }));
}

describe.each(['express', 'fastify'] as const)('on %s it is whole', (adapter) => {
  test('at a path of its own, and below a global prefix, with and without a slash at the end', async () => {
    const own = await bench.start({ adapter, dashboard: { path: '/internal/queue' } });
    await walk(await bench.open('', { url: own.url }));
    const { url } = await bench.start({ adapter, globalPrefix: 'api/v1' });
    for (const hash of ['', '/']) {
      const page = await bench.open(hash, { url });
      await seen(page.getByText('Live', { exact: true }));
    }
  });

  test('behind a reverse proxy that shows it under another path', async () => {
    const { origin } = await bench.start({ adapter, globalPrefix: 'api' });
    const proxy = await startReverseProxy({ target: origin, from: '/ops/shop/q', to: '/api/queues' });
    // After its pages are closed.
    onTestFinished(proxy.close);
    await walk(await bench.open('', { url: `${proxy.origin}/ops/shop/q` }));
    const page = await bench.open('/', { url: `${proxy.origin}/ops/shop/q` });
    await seen(page.getByText('Live', { exact: true }));
  });
});

test('an address that leads nowhere is said so', async () => {
  for (const hash of ['#/settings', '#/tasks/1/attempts', '#main']) {
    const page = await bench.open(hash);
    await seen(page.getByRole('heading', { name: 'Page not found', level: 1 }));
    await says(page.getByRole('main'), hash.slice(1));
    await page.getByRole('main').getByRole('link', { name: 'Overview' }).click();
    await seen(page.getByRole('heading', { name: 'Overview', level: 1 }));
  }
});

test.each(['express', 'fastify'] as const)(
  'on %s each queue of an application leads to the others',
  async (adapter) => {
    const { url, origin } = await bench.start({
      adapter,
      globalPrefix: 'api',
      others: [{ name: 'billing', queue: 'billing', dashboard: { path: 'internal/billing' } }],
    });
    const page = await bench.open('#/tasks', { url });
    await page.getByLabel('Queue', { exact: true }).selectOption('billing');
    await page.waitForURL(`${origin}/api/internal/billing`);
    await says(page.getByRole('contentinfo'), 'public.billing');
    await page.getByLabel('Queue', { exact: true }).selectOption('default');
    await says(page.getByRole('contentinfo'), 'public.tasks');
    // Under a path of a proxy's own nobody knows where the others are.
    const proxy = await startReverseProxy({ target: origin, from: '/ops/q', to: '/api/queues' });
    onTestFinished(proxy.close);
    const behind = await bench.open('', { url: `${proxy.origin}/ops/q` });
    await seen(behind.getByText('Live', { exact: true }));
    expect(await behind.getByLabel('Queue', { exact: true }).count()).toBe(0);
  },
);

test('what is read-only offers nothing to do', async () => {
  const failed = await seedTask(bench.pool, {
    topic: 'send-receipt',
    status: 'failed',
    due: -9,
    started: -8,
    finished: -7,
  });
  const { url } = await bench.start({ dashboard: { actions: false } });
  const acting = (page: Page) =>
    page.getByRole('button', {
      name: /^(Pause(?! updates)|Resume|Retry|Cancel|Bury|Run|Edit|(De)?[Aa]ctivate)/,
    });
  for (const hash of [
    '',
    '#/tasks?status=failed',
    `#/tasks/${failed}`,
    `#/tasks/${id}`,
    '#/subscriptions/crm',
  ]) {
    const page = await bench.open(hash, { url });
    await seen(page.getByText('send-receipt').or(page.getByRole('heading', { name: 'crm' })));
    await says(page.getByRole('contentinfo'), 'read-only');
    expect(await acting(page).count()).toBe(0);
  }
  // The same of one that may do one thing only.
  const some = await bench.start({ dashboard: { actions: ['retry'] } });
  const page = await bench.open(`#/tasks/${failed}`, { url: some.url });
  await expect.poll(() => acting(page).allInnerTexts()).toEqual(['Retry']);
});

describe('what guards refuse', () => {
  class Staff implements CanActivate {
    static isIn = true;

    canActivate(context: ExecutionContext): boolean {
      const { url } = context.switchToHttp().getRequest<{ url: string }>();
      if (Staff.isIn || !url.includes('/api/')) return true;
      throw new ForbiddenException({
        code: 'ACTION_FORBIDDEN',
        message: 'your session is over: log in again',
      });
    }
  }

  test('is said in their words, whenever it happens', async () => {
    Staff.isIn = true;
    const { url } = await bench.start({ dashboard: { guards: [Staff] } });
    const page = await bench.open('', { url });
    await seen(page.getByText('Live', { exact: true }));
    Staff.isIn = false;
    await page.getByRole('button', { name: 'Pause send-receipt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await says(page.getByRole('dialog'), 'your session is over: log in again');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await says(page.getByRole('alert'), 'your session is over: log in again');
    await page.reload();
    await says(page.getByRole('alert'), 'your session is over: log in again');
    Staff.isIn = true;
    await page.getByRole('button', { name: 'Try again' }).click();
    await seen(page.getByRole('link', { name: id, exact: true }));
    expect(new Set(bench.takeFaults().map((fault) => fault.replace(/ \(http.*/, '')))).toEqual(
      new Set(['console: Failed to load resource: the server responded with a status of 403 (Forbidden)']),
    );
  });

  test('ends the stream with the reason, until it is asked for again', async () => {
    Staff.isIn = true;
    const { url } = await bench.start({ dashboard: { guards: [Staff] } });
    Staff.isIn = true;
    const page = await bench.open('', { url });
    await seen(page.getByText('Live', { exact: true }));
    Staff.isIn = false;
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByRole('button', { name: 'Go live' }).click();
    await says(page.getByRole('main').getByRole('status'), /Refused\..*your session is over/);
    Staff.isIn = true;
    await page.getByRole('button', { name: 'Go live' }).click();
    await seen(page.getByText('Live', { exact: true }));
    expect(bench.takeFaults().length).toBeGreaterThan(0);
  });
});

describe('a login that has expired', () => {
  class LoggedIn implements CanActivate {
    static isIn = true;
    static documents = 0;
    static refuses: (url: string) => boolean = () => true;

    canActivate(context: ExecutionContext): boolean {
      const { url } = context.switchToHttp().getRequest<{ url: string }>();
      if (/\/queues\/?$/.test(url)) LoggedIn.documents += 1;
      if (LoggedIn.isIn || !LoggedIn.refuses(url)) return true;
      throw new UnauthorizedException('log in at /login');
    }
  }

  /** As docs/guides/recipes.md has it. */
  @Catch(UnauthorizedException)
  class ToLogin implements ExceptionFilter {
    catch(error: UnauthorizedException, host: ArgumentsHost): void {
      const http = host.switchToHttp();
      const { headers } = http.getRequest<{ headers: { accept?: string } }>();
      const response = http.getResponse<{
        redirect(url: string): void;
        status(code: number): { json(body: object): void };
      }>();
      if (headers.accept?.includes('text/html')) response.redirect('/login');
      else response.status(401).json({ message: error.message });
    }
  }

  test('has the page asked for again, so that the application leads to its login', async () => {
    LoggedIn.isIn = true;
    LoggedIn.refuses = () => true;
    const { url } = await bench.start({
      dashboard: { guards: [LoggedIn] },
      configure: (app) => {
        app.useGlobalFilters(new ToLogin());
        // With an icon: a browser asks for one when it likes, and tells the console that there is none.
        app.use('/login', (_: unknown, response: ServerResponse) => {
          response.setHeader('content-type', 'text/html');
          response.end('<link rel="icon" href="data:,">Log in');
        });
      },
    });
    const page = await bench.open('', { url });
    await seen(page.getByText('Live', { exact: true }));
    LoggedIn.isIn = false;
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.waitForURL(/\/login(#|$)/);
    expect(bench.takeFaults().length).toBeGreaterThan(0);
  });

  test('is said where the page comes anyway, without asking for it again and again', async () => {
    LoggedIn.isIn = false;
    LoggedIn.refuses = (url) => url.includes('/api/');
    const { url } = await bench.start({ dashboard: { guards: [LoggedIn] } });
    const page = await bench.open('#/tasks', { url });
    await says(page.getByRole('alert'), 'log in at /login');
    const { documents } = LoggedIn;
    await page.getByRole('button', { name: 'Try again' }).click();
    await says(page.getByRole('alert'), 'log in at /login');
    expect(LoggedIn.documents).toBe(documents);
    expect(bench.takeFaults().length).toBeGreaterThan(0);
  });
});

test('a server that goes away is waited for, and the page goes on automatically', async () => {
  let other: DashboardApp = await bench.start();
  const { port } = new URL(other.origin);
  const proxy = await startReverseProxy({ target: other.origin, from: '/q', to: '/queues' });
  const page = await bench.open('', { url: `${proxy.origin}/q` });
  await seen(page.getByText('Live', { exact: true }));
  await other.close();
  await says(page.getByRole('main').getByRole('status'), 'Reconnecting');
  other = await bench.start({ port: Number(port) });
  await seen(page.getByText('Live', { exact: true }));
  await page.context().close();
  await proxy.close();
  expect(bench.takeFaults().length).toBeGreaterThan(0);
});

describe('it speaks', () => {
  test.each([
    ['pt-BR', 'Visão geral', 'pt-BR'],
    ['en-GB', 'Overview', 'en'],
    ['de-DE', 'Overview', 'en'],
  ])('to a browser of %s: %s', async (locale, heading, lang) => {
    const page = await bench.open('', { locale });
    await seen(page.getByRole('heading', { name: heading, level: 1 }));
    expect(await page.evaluate('document.documentElement.lang')).toBe(lang);
  });

  test('Portuguese where the server refuses something, too', async () => {
    const page = await bench.open('#/tasks/999999', { locale: 'pt-BR' });
    await says(page.getByRole('alert'), /Não existe tentativa 999999: talvez já tenha sido expurgada, ou /);
    const done = await seedTask(bench.pool, { topic: 'send-receipt', status: 'failed', due: -9 });
    await page.goto(`${bench.app.url}/#/tasks/${done}`);
    await page.getByRole('button', { name: 'Repetir', exact: true }).click();
    await bench.pool.query(`update tasks set status = 'sucesso' where id = $1`, [done]);
    const dialog = page.getByRole('dialog');
    await dialog.locator('[data-action="confirm"]').click();
    await says(dialog, `O estado da tarefa ${done} não permite isto. Estado atual: Sucesso.`);
    expect(bench.takeFaults().every((fault) => /40[49]/.test(fault))).toBe(true);
  });

  test('Portuguese in every view, once it was chosen, also the next time', async () => {
    const page = await bench.open();
    await page.getByLabel('Language').selectOption('Português');
    await seen(page.getByRole('heading', { name: 'Visão geral', level: 1 }));
    await page.reload();
    await seen(page.getByRole('heading', { name: 'Visão geral', level: 1 }));
    for (const hash of [
      '',
      '#/tasks',
      `#/tasks/${id}`,
      '#/schedules',
      '#/subscriptions',
      '#/subscriptions/crm',
    ]) {
      await page.goto(`${bench.app.url}/${hash}`);
      await seen(page.getByRole('heading', { level: 1 }));
      await gone(page.getByText('Carregando'));
      const text = await page.locator('body').innerText();
      expect(text).not.toMatch(/\b(the|Tasks?|Status:|Pending|Running|Nothing|Attempts?|Show)\b/);
    }
    await page.getByLabel('Idioma').selectOption('English');
    await seen(page.getByRole('link', { name: 'Overview', exact: true }));
  });
});

describe('it is', () => {
  /** How bright its ground is: 0 to 255. */
  const ground = async (page: Page): Promise<number> => {
    const colour = await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
    return (red + green + blue) / 3;
  };

  test('as light or dark as the system, or as was chosen, also the next time', async () => {
    const page = await bench.open('', { theme: 'dark' });
    expect(await ground(page)).toBeLessThan(80);
    await page.getByLabel('Theme').selectOption('light');
    await expect.poll(() => ground(page)).toBeGreaterThan(200);
    await page.reload();
    await seen(page.getByRole('heading', { level: 1 }));
    expect(await ground(page)).toBeGreaterThan(200);
    await page.getByLabel('Theme').selectOption('system');
    await expect.poll(() => ground(page)).toBeLessThan(80);
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(() => ground(page)).toBeGreaterThan(200);
  });
});
