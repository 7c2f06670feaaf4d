import { hostname } from 'node:os';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { subscribe } from '../support/subscriptions.js';
import { deferred, until } from '../support/waiting.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { confirm, gone, part, row, says, seen } from './kit/seen.js';
import { seedHistory, seedTask, seedTasks, type SeedMinute } from './kit/seed.js';

const bench = useDashboard({ webhooks: { allowedAddresses: ['127.0.0.1'] } });

beforeAll(async () => {
  const { pool, database, app } = bench;
  await subscribe(database, [{ id: 'crm', url: 'http://127.0.0.1:9/orders' }]);
  await pool.query(
    `insert into tasks_webhook (subscriber_id, failures, failing_since, open_until)
     values ('crm', 7, now() - interval '5 minutes', now() + interval '10 minutes')`,
  );
  const ended = { status: 'failed', due: -90, started: -80, finished: -70 } as const;
  const previousId = await seedTask(pool, { topic: 'charge-card', retried: true, ...ended });
  const ids = await seedTasks(pool, [
    { topic: 'ship-order', due: -7_260 },
    { topic: 'ship-order', due: -60 },
    { topic: 'send-receipt', due: -30 },
    { topic: 'reserve-stock', due: 3_600 },
    { topic: 'reserve-stock', due: 7_200 },
    { topic: 'charge-card', status: 'scheduled', due: 600, attempt: 2, firstId: previousId, previousId },
    { topic: 'charge-card', exhausted: true, ...ended },
    { topic: 'charge-card', exhausted: true, ...ended },
  ]);
  const [treated = '', untreated = ''] = ids.slice(6);
  const done = { topic: 'charge-card', status: 'succeeded', dead: true, due: -30, started: -20 } as const;
  await seedTasks(pool, [
    { ...done, liveId: treated, message: 'refunded' },
    { ...done, liveId: untreated, message: 'manual intervention is needed: no dead handler is registered' },
  ]);
  await app.admin.pause({ topic: 'send-receipt' });
  const minutes = (count: number, minute: (ago: number) => SeedMinute): ReadonlyMap<number, SeedMinute> =>
    new Map(Array.from({ length: count }, (_, ago) => [ago, minute(ago)]));
  await seedHistory(
    pool,
    't:ship-order',
    minutes(1_400, (ago) => ({ succeeded: ago % 7, waitsMs: [40, 90, 900], runsMs: [10, 20] })),
  );
  await seedHistory(pool, 't:charge-card', new Map([[3, { succeeded: 3, failed: 9, buried: 2 }]]));
  await seedHistory(pool, 't:old-name', new Map([[2, { failed: 4, unhandled: 4 }]]));
  await seedHistory(
    pool,
    '',
    minutes(1_400, (ago) => ({ lagMs: Math.max(0, 6 - ago) * 10_000 })),
  );
});

const problems = (page: Page) => part(page, 'Needs attention');

test('the numbers to look at first lead to the tasks they count', async () => {
  const page = await bench.open();
  const tiles = part(page, 'The queue in numbers');
  await seen(tiles.getByRole('link', { name: /^Waiting\s*3/ }));
  await seen(tiles.getByRole('link', { name: /^Failed attempts\s*13/ }));
  await seen(tiles.getByRole('link', { name: /^Retrying\s*1/ }));
  await says(tiles, /Oldest waiting\s*2\s?h/);
  // What a dead handler has dealt with is no trouble.
  await tiles.getByRole('link', { name: /^Buried\s*1\s*untreated, and 1 treated/ }).click();
  await seen(page.getByRole('heading', { name: '1 task', exact: true }));
  await says(page.getByRole('row'), /Failed\s*charge-card/);
  await page.goBack();
  await tiles.getByRole('link', { name: /^Scheduled\s*2/ }).click();
  await seen(page.getByRole('heading', { name: 'Tasks', level: 1 }));
  await seen(page.getByRole('heading', { name: '2 tasks' }));
  expect(await page.getByRole('checkbox', { name: 'Scheduled' }).isChecked()).toBe(true);
});

test('what is wrong is said in words, with what to do', async () => {
  const page = await bench.open();
  const said = problems(page).getByRole('listitem');
  await says(said, /No worker handles ship-order: 2 tasks are waiting, the oldest for 2\s?h.*Start a worker/);
  await says(said, /The endpoint of crm failed 7 times in a row and rests until/);
  await says(said, /4 attempts of old-name failed because no handler is registered/);
  await says(said, /9 of 12 attempts of charge-card failed in the last hour/);
  await says(said, /The oldest waiting task has been waiting for 2\s?h.*The workers are not keeping up/);
  await says(said, /1 task gave up, and no dead handler has dealt with it\..*Retry it/);
  expect(await said.count()).toBe(6);
  await page.getByText('1 more', { exact: true }).click();
  await says(said, /send-receipt has been paused since .*; 1 task is waiting\..*Resume it/);
  await said.filter({ hasText: 'crm' }).getByRole('link', { name: 'See the subscription' }).click();
  await seen(page.getByRole('heading', { name: 'crm', level: 1 }));
});

test('so is what cannot be made to happen in a test', async () => {
  const answer = await fetch(`${bench.app.url}/api/overview`);
  const overview = (await answer.json()) as object;
  const told = [
    {
      kind: 'old-snapshot',
      sinceMs: 5_400_000,
      transactions: 12_345,
      holder: 'session, report, pid 7, idle',
    },
    { kind: 'notify-full', usage: 0.73 },
    { kind: 'lost-worker', workerId: '4', host: 'shop-2', pid: 812 },
    { kind: 'late-scheduled', lateMs: 120_000 },
    { kind: 'deactivated', subscriptionId: 'erp', reason: 'it answered 410' },
    { kind: 'discarded', topic: 'order-lost', subscriptionId: null, count: 2 },
    { kind: 'unread', section: 'size', reason: 'canceling statement' },
    { kind: 'inconsistent', inconsistency: 'no-next-attempt', count: 12, ids: ['17', '18'] },
    { kind: 'inconsistent', inconsistency: 'no-dead-task', count: 1, ids: ['19'] },
    { kind: 'inconsistent', inconsistency: 'missing-deliveries', count: 1, ids: ['20'] },
    { kind: 'inconsistent', inconsistency: 'no-worker', count: 1, ids: ['21'] },
  ];
  const page = await bench.newPage();
  const data = JSON.stringify({ ...overview, problems: told });
  await page.route('**/api/stream', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: `event: overview\ndata: ${data}\n\n` }),
  );
  // Asked as well, because such a stream ends at once.
  await page.route('**/api/overview', (route) =>
    route.fulfill({ contentType: 'application/json', body: data }),
  );
  await page.goto(bench.app.url);
  const said = problems(page).getByRole('listitem');
  await says(said, /open for 1\s?h(?:r)? 30\s?m.*: session, report, pid 7, idle \(12,345 transactions old\)/);
  await says(said, /notification queue is 73% full.*End the listening session/);
  await says(said, /The worker on shop-2 \(process 812\) was lost/);
  await says(said, /Scheduled tasks are 2\s?m\w* late/);
  await says(said, /Subscription erp was deactivated: it answered 410/);
  await says(said, /2 publications of order-lost reached nobody in the last hour.*Add one/);
  await page.getByText('5 more', { exact: true }).click();
  await says(said, /size could not be read: canceling statement/);
  await says(said, /12 failed attempts .* next attempts are missing: 17, 18, …\..*`tarefa check --help`/);
  await says(said, /A task ran out of attempts, but its dead task is missing: 19\./);
  await says(said, /A publication has fewer deliveries than its message says: 20\./);
  await says(said, /An attempt is running, but no registered worker holds it: 21\./);
  expect(await said.getByRole('link', { name: '18', exact: true }).getAttribute('href')).toBe('#/tasks/18');
});

test('what runs is listed with a time that ticks, and workers with what they take', async () => {
  const end = deferred();
  class Handlers {
    @TaskHandler('print-label')
    print(): Promise<void> {
      return end.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers], unknownTasks: 'leave', concurrency: 4 });
  const id = await queue.insertTask({ topic: 'print-label' });
  const page = await bench.open();
  const running = part(page, 'Running now').getByRole('listitem').filter({ hasText: 'print-label' });
  await says(running, id);
  const first = await running.innerText();
  await expect.poll(() => running.innerText()).not.toBe(first);
  const worker = part(page, 'Workers')
    .getByRole('listitem')
    .filter({ hasText: String(process.pid) });
  await says(worker, hostname());
  await says(worker, /Alive.*print-label/s);
  expect(await worker.getByRole('meter').getAttribute('aria-label')).toBe('1 of 4 slots are busy');
  end.resolve();
  await gone(running);
});

test('a detached process is listed with the worker that has started it and the file of its output', async () => {
  const output = '/var/log/shop/tasks-17-1.log';
  await bench.pool.query(
    `insert into tasks_worker (host, pid, version, concurrency, routes, lease_until, parent, output)
     values ('shop-1', 4711, '0', 1, '{}', now() + interval '50 seconds', 3, $1)`,
    [output],
  );
  const page = await bench.open();
  const worker = part(page, 'Workers').getByRole('listitem').filter({ hasText: 'shop-1 4711' });
  await says(worker, /detached, started by worker 3/);
  await says(worker, output);
  await bench.pool.query(`delete from tasks_worker where host = 'shop-1'`);
});

describe('the charts', () => {
  test('are read with the keyboard, point by point', async () => {
    const page = await bench.open();
    const chart = page.getByRole('slider', { name: 'Throughput, point in time' });
    await expect.poll(() => chart.getAttribute('aria-valuemax')).toBe('59');
    await chart.focus();
    await page.keyboard.press('End');
    expect(await chart.getAttribute('aria-valuenow')).toBe('59');
    // Some minutes ago, ship-order succeeded twice while old-name failed four times.
    await expect
      .poll(async () => {
        await page.keyboard.press('ArrowLeft');
        return chart.getAttribute('aria-valuetext');
      })
      .toMatch(/^\d\d:\d\d [AP]M, Succeeded: 2, Failed: 4$/);
    await page.keyboard.press('Home');
    expect(await chart.getAttribute('aria-valuenow')).toBe('0');
    const wait = page.getByRole('slider', { name: 'Waiting time, point in time' });
    await wait.focus();
    // The last point is empty when a minute has begun since the history was written.
    await page.keyboard.press('Home');
    expect(await wait.getAttribute('aria-valuetext')).toMatch(
      /p50: \d+\s?ms, p95: \d+\s?ms, p99: \d+\s?m?s$/,
    );
  });

  test('have a table each, and an address for the day and for one topic', async () => {
    const page = await bench.open();
    const figure = page.getByRole('figure').filter({ hasText: 'Throughput' });
    await figure.getByText('As a table').click();
    const rows = figure.getByRole('rowheader');
    await expect.poll(() => rows.count()).toBe(60);
    await page.getByRole('button', { name: 'Last day' }).click();
    // Ten minutes each, from where the history begins.
    await expect.poll(() => rows.count()).toSatisfy((count: number) => count > 130 && count <= 144);
    await row(page, 'charge-card').getByRole('button', { name: 'charge-card', exact: true }).click();
    await expect
      .poll(async () => (await figure.getByRole('cell').allInnerTexts()).filter((text) => text !== '0'))
      .toEqual(['3', '9']);
    expect(page.url()).toMatch(/#\/\?range=day&topic=charge-card$/);
    await page.reload();
    const day = page.getByRole('button', { name: 'Last day' });
    await expect.poll(() => day.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'Show all routes again' }).click();
    await gone(page.getByRole('button', { name: 'Show all routes again' }));
  });
});

test('a topic is paused and resumed, each after asking', async () => {
  await seedTask(bench.pool, { topic: 'count-stock' });
  const page = await bench.open();
  const counted = row(page, /^count-stock/);
  const isPaused = async (): Promise<boolean> => {
    const { rowCount } = await bench.pool.query(`select from tasks_paused where route = 't:count-stock'`);
    return rowCount === 1;
  };
  const button = page.getByRole('button', { name: 'Pause count-stock' });
  await button.click();
  await page.keyboard.press('Escape');
  await gone(page.getByRole('dialog'));
  expect(await isPaused()).toBe(false);
  await confirm(page, button, 'Pause');
  await says(counted, 'Paused');
  expect(await isPaused()).toBe(true);
  await page.getByText('2 more', { exact: true }).click();
  await says(problems(page).getByRole('listitem'), /count-stock has been paused/);
  await confirm(page, counted.getByRole('button', { name: 'Resume count-stock' }), 'Resume');
  await seen(button);
  expect(await isPaused()).toBe(false);
  expect(bench.app.told).toMatchObject([
    { action: 'pause', target: 'topic count-stock', refused: undefined },
    { action: 'pause', target: 'resume topic count-stock', refused: undefined },
  ]);
});

test('a queue of a minute has charts to look at, and a number per minute', async () => {
  const { pool } = bench;
  const { rows: kept } = await pool.query('delete from tasks_history returning *');
  await seedHistory(pool, 't:young', new Map([[0, { succeeded: 1_700, waitsMs: [40], runsMs: [10] }]]));
  const page = await bench.open();
  const tile = part(page, 'The queue in numbers').locator('[data-tile="throughput"]');
  // A little less when the minute ends just now.
  await says(tile, /1,[67]\d\d/);
  await says(part(page, 'History'), /Nothing was recorded before \S/);
  const slider = page.getByRole('slider', { name: 'Throughput, point in time' });
  expect(await slider.getAttribute('aria-valuemax')).toBe('9');
  for (const chart of ['wait', 'run']) {
    const dot = await page.locator(`[data-chart="${chart}"] circle.dot`).first().boundingBox();
    expect({ chart, isSeen: (dot?.width ?? 0) > 5 }).toEqual({ chart, isSeen: true });
  }
  await pool.query('delete from tasks_history');
  await pool.query(
    'insert into tasks_history select * from json_populate_recordset(null::tasks_history, $1)',
    [JSON.stringify(kept)],
  );
});

describe('live', () => {
  test('a task that is inserted shows without anything being asked for', async () => {
    const page = await bench.open();
    await seen(page.getByText('Live', { exact: true }));
    await gone(row(page, 'gift-wrap'));
    await bench.app.queue.insertTask({ topic: 'gift-wrap', payload: {} });
    await seen(row(page, 'gift-wrap'));
  });

  test('a database that does not answer is said so, and the page goes on automatically', async () => {
    const page = await bench.open();
    await seen(page.getByText('Live', { exact: true }));
    await bench.pool.query('alter table tasks rename to tasks_away');
    const state = page.getByRole('main').getByRole('status');
    try {
      await says(state, /Reconnecting….*the database query failed/);
    } finally {
      await bench.pool.query('alter table tasks_away rename to tasks');
    }
    await says(state, /^Live$/);
  });

  test('the stream ends while the page is hidden or paused, and begins again', async () => {
    const page = await bench.open();
    const open = (count: number) =>
      until(() => Promise.resolve(bench.app.streams() === count), `${count} streams`);
    const show = (state: 'hidden' | 'visible') =>
      page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      `);
    await open(1);
    await show('hidden');
    await open(0);
    await seedTask(bench.pool, { topic: 'while-hidden' });
    await show('visible');
    await open(1);
    await seen(row(page, 'while-hidden'));
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await open(0);
    await page.getByRole('button', { name: 'Go live' }).click();
    await open(1);
    await seen(page.getByText('Live', { exact: true }));
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await open(0);
  });
});
