import { TarefaError } from '../../../lib/index.js';
import { runCli } from '../../cli/support.js';
import { ask } from '../../dashboard/kit/ask.js';
import type { DashboardApp } from '../../dashboard/kit/dashboard-app.js';
import type { WrittenRow } from './hostile-rows.js';

/** A reader that did not answer, and why. */
export interface Complaint {
  readonly reader: string;
  readonly said: string;
}

/** Who reads: an application with a dashboard and the command line. */
export interface ReaderParts {
  readonly dashboard: DashboardApp;
  readonly databaseUrl: string;
}

/** So many a few thousand rows are at most: a walk through empty ranges of ids would go on for years. */
const mostPages = 200;
const statuses = ['scheduled', 'pending', 'processing', 'succeeded', 'failed'] as const;

/** Asks every reader of whole queues; returns what did not answer. */
export async function readQueue(parts: ReaderParts): Promise<readonly Complaint[]> {
  const { admin, queue, url } = parts.dashboard;
  const complaints: Complaint[] = [];
  const listen = listener(complaints);
  await listen('admin.list', async () => {
    let after: string | undefined;
    do {
      ({ next: after } = await admin.list({}, { limit: 1_000, ...(after === undefined ? {} : { after }) }));
    } while (after !== undefined);
  });
  for (const filter of [
    ...statuses.map((status) => ({ status })),
    { topic: 'hostile', latest: true },
    { topic: null },
    { subscriptionId: 'code' },
    { message: 'João 😀' },
    { externalKey: 'João 😀' },
    { group: 'João 😀' },
  ]) {
    await listen(`admin.list ${JSON.stringify(filter)}`, () => admin.list(filter, { payload: false }));
  }
  await listen('admin.counts', () => admin.counts());
  await listen('admin.counts since', () => admin.counts({ since: new Date() }));
  await listen('admin.oldestPending', () => admin.oldestPending());
  await listen('admin.hasWaited', () => admin.hasWaited(1));
  await listen('admin.paused', () => admin.paused());
  await listen('admin.subscriptions.list', () => admin.subscriptions.list());
  await listen('admin.subscriptions.find', () => admin.subscriptions.find('João 😀'));
  await listen('client.listEquivalentTask', () =>
    queue.listEquivalentTask({ topic: 'hostile', externalKey: 'xyz', payload: {} }),
  );
  for (const path of [
    'overview',
    'history?range=hour',
    'history?range=day',
    'subscriptions',
    ...['', ...statuses.map((status) => `&status=${status}`), '&topic=hostile', '&latest=true'].map(
      (rest) => `tasks?limit=100${rest}`,
    ),
    `tasks?key=${encodeURIComponent('João 😀')}`,
    `tasks?message=${encodeURIComponent('João 😀')}`,
  ]) {
    await listen(`page ${path}`, () => page(url, path));
  }
  await listen('page tasks, all of them', async () => {
    let after: unknown;
    let pages = 0;
    do {
      pages += 1;
      if (pages > mostPages) throw new Error(`more than ${mostPages} pages`);
      const answer = await page(url, `tasks?limit=100${typeof after === 'string' ? `&after=${after}` : ''}`);
      after = answer['next'];
    } while (typeof after === 'string');
  });
  for (const args of [
    ['status'],
    ['tasks', '--limit', '1000'],
    ['tasks', '--topic', 'João 😀'],
    ['subscriptions', 'list'],
    ['retry', '--all', '--dry-run'],
    ['purge', '--dry-run'],
  ]) {
    await listen(`tarefa ${args.join(' ')}`, () => commandLine(parts, args));
  }
  return complaints;
}

/** Asks every reader of one task. */
export async function readTask(parts: ReaderParts, row: WrittenRow): Promise<readonly Complaint[]> {
  const { admin, url } = parts.dashboard;
  const complaints: Complaint[] = [];
  const listen = listener(complaints);
  await listen('admin.find', () => admin.find(row.id));
  await listen('page task', () => page(url, `tasks/${row.id}`));
  await listen('page payload', () => page(url, `tasks/${row.id}/payload`));
  if (row.column === '(all)') {
    await listen('tarefa task', () => commandLine(parts, ['task', '--payload', '--', row.id]));
  }
  return complaints;
}

function listener(complaints: Complaint[]): (reader: string, read: () => Promise<unknown>) => Promise<void> {
  return async (reader, read) => {
    try {
      await read();
    } catch (error) {
      const known = error instanceof TarefaError ? `${error.code} ` : '';
      complaints.push({ reader, said: `${known}${String(error)}` });
    }
  };
}

async function page(url: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, body, text } = await ask(`${url}/api/${path}`);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

async function commandLine({ databaseUrl }: ReaderParts, args: readonly string[]): Promise<void> {
  const env = { DATABASE_URL: databaseUrl, QUEUE_TABLE: 'tasks' };
  for (const form of [args, [args[0] ?? '', '--json', ...args.slice(1)]]) {
    const { code, stderr, stdout } = await runCli(form, { env });
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    const unread = /could not be read: .*/.exec(stdout) ?? /"unknown":\s*\[\s*\{[^\]]*\]/.exec(stdout);
    if (unread) throw new Error(unread[0]);
  }
}
