import { beforeAll, expect, test } from 'vitest';
import { Recurring, TaskHandler } from '../../lib/index.js';
import { scheduleKey } from '../../lib/storage/schedules.js';
import { startDashboardApp } from './kit/dashboard-app.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { confirm, gone, row, says, seen } from './kit/seen.js';

const bench = useDashboard();

class Declaring {
  @TaskHandler('close-day')
  @Recurring('nightly', { cron: '0 3 * * *', missed: 'skip' })
  closeDay(): void {}
}

beforeAll(async () => {
  const { schedules } = bench.app.admin;
  await schedules.add({
    id: 'digest',
    cron: '0 7 * * mon',
    timezone: 'America/Sao_Paulo',
    task: { topic: 'send-digest', payload: { to: 'in-payload' } },
  });
  await schedules.add({ id: 'stock', every: 300_000, overlap: 'skip', task: { topic: 'sync-stock' } });
  await schedules.add({
    id: 'over',
    cron: '0 0 * * *',
    endsAt: '2020-01-01T00:00Z',
    task: { topic: 'past' },
  });
  await schedules.add({ id: '<b>bold</b>', cron: '0 0 * * *', task: {} });
  const declaring = await startDashboardApp(bench.database.url, { handlers: [Declaring] });
  await declaring.close();
  await bench.pool.query(
    `update tasks_schedule set last_at = now() - interval '2 hours', missed = 1204 where id = 'digest'`,
  );
});

const madeBy = async (id: string): Promise<number> => {
  const { rowCount } = await bench.pool.query(`select from tasks where metadados ->> '${scheduleKey}' = $1`, [
    id,
  ]);
  return rowCount ?? 0;
};

test('the list says how each schedule stands, when it runs and what it has missed, and can be searched', async () => {
  const page = await bench.open();
  await page.getByRole('link', { name: 'Schedules', exact: true }).click();
  await seen(page.getByRole('heading', { name: 'Schedules', level: 1 }));
  await says(
    row(page, 'digest'),
    /send-digest[^]*0 7 \* \* mon America\/Sao_Paulo[^]*Active[^]*in \d[^]*2\s?h\w* ago[^]*1,204/,
  );
  await says(row(page, 'stock'), /every 5\s?m[^]*Active[^]*in \d[^]*never[^]*0/);
  await says(row(page, 'over'), /Ended[^]*–[^]*never/);
  await says(row(page, 'nightly'), /close-day[^]*Undeclared[^]*–[^]*never/);
  await says(row(page, '<b>bold</b>'), /\(no topic\)/);
  expect(await page.content()).not.toContain('in-payload');
  const search = page.getByRole('searchbox', { name: 'Find' });
  await search.fill('SYNC');
  await gone(row(page, 'digest'));
  await seen(row(page, 'stock'));
  await search.fill('nobody');
  await says(page.getByRole('main'), 'No schedule matches.');
});

test('of thousands the first are shown, and the others are found', async () => {
  const other = await bench.start({ queue: 'many' });
  await other.admin.schedules.add({ id: 'model', cron: '0 0 * * *', task: { topic: 'tick' } });
  await bench.pool.query(
    `insert into many_schedule (id, declared, rule, task)
     select 'many ' || n, declared, rule, task from many_schedule, generate_series(1, 3000) n`,
  );
  const page = await bench.open('#/schedules', { url: other.url });
  await says(page.getByRole('main'), '2,801 more');
  expect(await page.getByRole('rowheader').count()).toBe(200);
  await page.getByRole('searchbox', { name: 'Find' }).fill('many 2999');
  await seen(row(page, 'many 2999'));
  expect(await page.getByRole('rowheader').count()).toBe(1);
});

test('one is run now, after asking; not while its task before has not ended, where these must not overlap', async () => {
  const page = await bench.open('#/schedules');
  await page.getByRole('button', { name: 'Run now: digest' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  expect(await madeBy('digest')).toBe(0);
  await confirm(page, page.getByRole('button', { name: 'Run now: digest' }), 'Run now');
  expect(await madeBy('digest')).toBe(1);
  const stock = page.getByRole('button', { name: 'Run now: stock' });
  await confirm(page, stock, 'Run now');
  await stock.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Run now' }).click();
  await says(dialog, /task \d+ of schedule "stock" has not finished/);
  expect(bench.takeFaults().join('\n')).toContain('409 (Conflict)');
  expect(await madeBy('stock')).toBe(1);
  expect(bench.app.told).toMatchObject([
    { action: 'run-schedule', target: 'digest', refused: undefined },
    { action: 'run-schedule', target: 'stock', refused: undefined },
    { action: 'run-schedule', target: 'stock', refused: expect.any(String) as string },
  ]);
});

test('one is paused and resumed, also one that nobody declares', async () => {
  const page = await bench.open('#/schedules');
  await confirm(page, page.getByRole('button', { name: 'Pause digest' }), 'Pause');
  await says(row(page, 'digest'), /Paused[^]*–/);
  await confirm(page, page.getByRole('button', { name: 'Resume digest' }), 'Resume');
  await says(row(page, 'digest'), /Active[^]*in \d/);
  await confirm(page, page.getByRole('button', { name: 'Pause nightly' }), 'Pause');
  await seen(page.getByRole('button', { name: 'Resume nightly' }));
  expect(await bench.app.admin.schedules.find('nightly')).toMatchObject({ pausedAt: expect.any(Date) });
  expect(bench.app.told.map(({ action, target }) => [action, target])).toEqual([
    ['pause-schedule', 'digest'],
    ['pause-schedule', 'resume digest'],
    ['pause-schedule', 'nightly'],
  ]);
});

test('who may only look finds no buttons, who may one thing that one', async () => {
  for (const [actions, names] of [
    [false, []],
    [['run-schedule'], ['Run now']],
  ] as const) {
    const { url } = await bench.start({ dashboard: { actions } });
    const page = await bench.open('#/schedules', { url });
    await seen(row(page, 'stock'));
    expect(await row(page, 'stock').getByRole('button').allInnerTexts()).toEqual(names);
  }
});

test('where nothing recurs the page says what would', async () => {
  const other = await bench.start({ queue: 'quiet' });
  const page = await bench.open('#/schedules', { url: other.url });
  await says(page.getByRole('main'), /No schedules yet\.[^]*@Recurring/);
});
