import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';
import { onPostgres, routeList, runsOn } from '../support/run-database.js';
import { deferred, nextEvent, until } from '../support/waiting.js';

const bench = useQueue();
const cli = useCli(bench);

const hostile = 'a\u001b[2Jb\u009b31mc\u0007\nd\u202ee\u0000'.replaceAll('\0', '');
/** Of a failed task the command shows its status in red, on a terminal. */
const withoutRed = (text: string): string => text.replaceAll('\u001B[31m', '').replaceAll('\u001B[39m', '');
const controls = /(?!\n)[\p{Cc}\p{Cf}]/u;

interface ListedTask {
  readonly id: string;
  readonly status: string;
  readonly message: string | null;
}
interface Listed {
  readonly tasks: readonly ListedTask[];
  readonly next: string | null;
}

test('tasks are listed page by page, and never with their payloads', async () => {
  await bench.start({ worker: false });
  expect(await cli.run(['tasks'])).toEqual({ code: 0, stdout: 'no attempt matches\n', stderr: '' });
  const ids = await cli.rows(
    'processo, payload, mensagem, dead, tenant, chave_externa, status, reenfileirado, data_hora',
    `'a', 'secret payload', 'it broke', false, 7, 'k1', 'falha', true, now() - interval '2 days'`,
    `'a', 'secret payload', 'it broke', false, 7, 'k1', 'falha', false, now()`,
    `'a', 'secret payload', null, true, null, null, 'pendente', false, now()`,
    `'b', 'secret payload', null, false, null, null, 'sucesso', false, now()`,
  );
  const list = async (...args: string[]): Promise<readonly (string | undefined)[]> =>
    (await cli.json<Listed>(['tasks', ...args])).tasks.map(({ id }) => id);
  const [first, second, third, fourth] = ids;
  expect(await list()).toEqual(ids.toReversed());
  expect(await list('--status', 'failed', '--latest')).toEqual([second]);
  expect(await list('--status', 'failed', '--status', 'succeeded')).toEqual([fourth, second, first]);
  expect(await list('--topic', 'b')).toEqual([fourth]);
  expect(await list('--dead')).toEqual([third]);
  expect(await list('--external-key', 'k1', '--tenant', '7', '--message', 'BROKE')).toEqual([second, first]);
  expect(await list('--until', '1d')).toEqual([first]);
  expect(await list('--since', '1d', '--topic', 'a')).toEqual([third, second]);
  expect(await list('--until', '2000-01-01')).toEqual([]);
  const page = await cli.json<Listed>(['tasks', '--limit', '3']);
  expect([page.tasks.length, page.next]).toEqual([3, second]);
  expect(await list('--limit', '3', '--after', page.next ?? '')).toEqual([first]);
  const { stdout, stderr } = await cli.run(['tasks', '--limit', '3']);
  expect(stdout).toMatch(/^ *task +attempt +status +topic +subscription +due +message\n/);
  expect(stdout).toContain('a (dead)');
  expect(stderr).toBe(`more: --after ${second}\n`);
  const everything = (await cli.run(['tasks', '--json'])).stdout + stdout;
  expect(everything).not.toContain('secret payload');
  expect(JSON.parse((await cli.run(['tasks', '--json'])).stdout)).not.toHaveProperty('tasks.0.payload');
});

test.each<[readonly string[], RegExp]>([
  [['tasks', '--status', 'done'], /--status must be one of scheduled, retrying, pending.*not "done"/],
  [['tasks', '--limit', '5000'], /--limit must be a whole number from 1 to 1000, not "5000"/],
  [['tasks', '--limit', '1e2'], /--limit must be/],
  [['tasks', '--since', 'yesterday'], /--since must be a time such as 2026-01-31.* not "yesterday"/],
  [['tasks', '--since', '2026-13-45'], /--since must be a time/],
  [['tasks', '--after', 'x'], /"x" is not an attempt id/],
  [['tasks', '--tenant', 'x'], /tenant/],
  [['tasks', '17'], /unexpected argument "17": `tarefa task <id>` shows one task/],
  [['task'], /no task given/],
  [['task', '1', '2'], /task takes one id only/],
  [['task', '17x'], /"17x" is not an attempt id/],
  [['task', '99999999999999999999'], /is not an attempt id/],
  [['status', 'now'], /status takes no arguments/],
  [['status', '--interval', '5'], /--interval requires --watch/],
  [['status', '--watch', '--interval', '0'], /--interval must be a number from 0.1/],
])('%j is refused before anything is asked', async (args, problem) => {
  await bench.start({ worker: false });
  const { code, stdout, stderr } = await cli.run(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
});

test('what the dashboard hides is not shown, whatever asks for it', async () => {
  await bench.start({ worker: false });
  const envelope = {
    publication: '{"n":1970670598291982290,"senha":"s3cret-1"}',
    subscription: { headers: { 'x-account': 's3cret-2' } },
  };
  const [task = '', delivery = ''] = await cli.rows(
    'processo, subscriber_id, publication_id, status, mensagem, erro, resultado, metadados, payload',
    `'a', null, null, 'falha', 'no answer of https://ana:s3cret-3@host', 'Error: x { headers: { Authorization: ''Bearer s3cret-4'' } }',
     '{"token":"s3cret-5"}', '{"apiKey":"s3cret-6","cpf":"123-45"}', '{"n":1970670598291982290,"pin":1234,"cpf":"123-45"}'`,
    `'a', 's', 1, 'falha', null, null, null, null, '${JSON.stringify(envelope)}'`,
  );
  for (const args of [['tasks'], ['task', task, '--payload'], ['task', delivery, '--payload']]) {
    for (const json of [[], ['--json']]) {
      const { stdout } = await cli.run([...args, ...json, '--redact', 'cpf']);
      expect([args, stdout]).toEqual([args, expect.not.stringMatching(/s3cret|123-45|1234[^5]/)]);
    }
  }
  const whole = await cli.json<{ readonly payload: string }>(['task', task, '--payload']);
  expect(whole.payload).toBe('{"n":1970670598291982290,"pin":"[redacted]","cpf":"123-45"}');
  expect((await cli.run(['task', task])).stdout).toContain(`Authorization: '[redacted]'`);
  expect((await cli.run(['task', delivery, '--payload'])).stdout).toContain(
    'payload\n{"n":1970670598291982290,"senha":"[redacted]"}\n',
  );
  expect(await cli.run(['task', task, '--redact', 'a..b'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--redact must be a name or path such as cpf'),
  });
});

test('a task is shown with its attempts, replays, dead tasks, publication and deliveries; its payload when asked', async () => {
  const { app, queue } = await bench.start({ worker: false });
  const admin = app.get(QueueAdmin);
  const publication = await queue.insertTaskPubSub({
    topic: 'placed',
    payload: { card: '4111' },
    externalKey: 'k',
  });
  const [delivery = '', second = ''] = await cli.rows(
    'processo, publication_id, subscriber_id, status, payload',
    `'placed', ${publication}, 'index', 'falha', '{"payload":{"card":"4111"}}'`,
    `'placed', ${publication}, 'stock', 'pendente', null`,
  );
  const replay = await admin.retry(delivery);
  const deadId = await admin.bury(replay, 'no more');

  interface Whole {
    readonly current: ListedTask;
    readonly attempts: readonly ListedTask[];
    readonly deadTasks: readonly { readonly current: ListedTask }[];
    readonly publication: ListedTask | null;
    readonly deliveries: readonly ListedTask[];
    readonly payload?: string | null;
  }
  const whole = await cli.json<Whole>(['task', replay]);
  expect(whole).toMatchObject({
    current: { id: replay, status: 'failed', message: 'no more' },
    attempts: [{ id: delivery }, { id: replay }],
    deadTasks: [{ current: { id: deadId, status: 'pending' } }],
    publication: { id: publication },
    deliveries: [],
  });
  expect(whole.payload).toBeUndefined();
  const shown = await cli.run(['task', delivery]);
  expect(shown.stdout).toMatch(new RegExp(`^task ${delivery}: placed, failed\n {2}subscription +index\n`));
  expect(shown.stdout).toMatch(new RegExp(` publication +${publication}, pending`));
  expect(shown.stdout).toMatch(new RegExp(`^dead task ${deadId}: pending$`, 'm'));
  expect(shown.stdout).toMatch(new RegExp(`^ *1 +1 +${replay} +failed .*no more$`, 'm'));
  expect(shown.stderr).toContain('The payload is hidden: --payload shows it.');

  const parent = await cli.json<Whole>(['task', publication, '--payload']);
  expect(parent.payload).toBe('{"card":"4111"}');
  // Its dead task has none of the publication's deliveries.
  expect(parent.deliveries.map(({ id }) => id).toSorted()).toEqual([replay, second, deadId].toSorted());
  const hidden = await cli.run(['task', publication]);
  expect(hidden.stdout + JSON.stringify(whole)).not.toContain('4111');
  expect((await cli.run(['task', publication, '--payload'])).stdout).toContain('payload\n{"card":"4111"}\n');
  expect(await cli.run(['task', '999999'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^tarefa task: attempt 999999 not found: it may have been purged, or .*\n$/,
    ),
  });
});

test('what a handler says of its progress stands with the attempt that runs', async () => {
  const end = deferred();
  class Handlers {
    @TaskHandler('long')
    async long(_: unknown, ctx: TaskContext): Promise<void> {
      ctx.progress(0.42);
      await end.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'long' });
  await until(async () => (await bench.row(id)).mensagem !== null, 'its progress is written');
  const { stdout } = await cli.run(['task', id]);
  end.resolve();
  await bench.ended(id);
  expect(stdout).toMatch(new RegExp(`^ *1 +${id} +processing .*42 %$`, 'm'));
});

test('hostile text is shown as text, and a huge one is cut, except in JSON', async () => {
  await bench.start({ worker: false });
  const huge = 'x'.repeat(1_000_000);
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, subscriber_id, chave_externa, mensagem, erro, resultado, payload, status, metadados)
     values ($1::text, $1::text, $1::text, $1::text, $2::text, $2::text, $1::text, 'falha', $3) returning id`,
    [hostile, hostile + huge, JSON.stringify({ name: hostile })],
  );
  const id = rows[0]?.id ?? '';
  for (const args of [['tasks'], ['task', id, '--payload'], ['status']]) {
    for (const terminal of [undefined, 100]) {
      const { code, stdout } = await cli.run(args, terminal === undefined ? {} : { terminal });
      expect(code).toBe(0);
      expect(withoutRed(stdout)).not.toMatch(controls);
      expect(stdout.length).toBeLessThan(40_000);
      expect(stdout).toContain('a\\x1b[2Jb\\x9b31mc\\x07');
    }
    const { stdout } = await cli.run([...args, '--json']);
    expect(stdout).not.toMatch(controls);
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(hostile).slice(1, -1));
  }
  const text = (await cli.run(['tasks'])).stdout;
  expect(text.trimEnd().split('\n')).toHaveLength(2);
  expect((await cli.run(['task', id])).stdout).toMatch(/… \(\d+ more characters: --json shows them\)/);
  const terminal = (await cli.run(['tasks'], { terminal: 100 })).stdout.split('\n');
  expect(terminal[1]?.endsWith('…') || (terminal[1]?.length ?? 0) > 0).toBe(true);
});

test('the status shows what waits, who works and what it costs, as text and as JSON', async () => {
  const { worker, queue } = await bench.start({ pollIntervalMs: 0 });
  const empty = await cli.run(['status']);
  expect(empty).toMatchObject({ code: 0, stderr: '' });
  expect(empty.stdout).toContain('none: no due task is waiting');
  await fill(queue);
  const { stdout, code } = await cli.run(['status']);
  expect(code).toBe(0);
  const server = { postgres: 'PostgreSQL', mariadb: 'MariaDB', mysql: 'MySQL' }[runsOn];
  expect(stdout).toMatch(new RegExp(`^\\w+\\.tasks at 2.*Z, ${server} \\d+`));
  expect(stdout).toMatch(/^lag {13}1 h 0 min: task \d+, b$/m);
  expect(stdout).toMatch(/^next scheduled {2}in .*: task \d+, c$/m);
  expect(stdout).toMatch(
    /^topic +subscription +scheduled +retrying +pending +running +succeeded +failed +cancelled$/m,
  );
  expect(stdout).toMatch(/^b +1 *$/m);
  expect(stdout).toMatch(new RegExp(`^ *${worker.id} +\\S+ +${process.pid} +\\S+ +10 +by its lock +2`, 'm'));
  const sizes = [
    /^table \d+(\.\d)? k?B( in \d+ partitions)?, indexes .* rows, /m,
    /^tasks_ready +[\d.]+ kB/m,
  ];
  for (const size of onPostgres ? sizes : []) expect(stdout).toMatch(size);
  expect(stdout).toMatch(/^no worker serves topic b: 1 task waiting, the oldest for 1 h 0 min$/m);
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('crm', 'paid')`);
  const report = await cli.json(['status']);
  expect(await cli.json(['status', ...(onPostgres ? ['--interop'] : [])])).toMatchObject(
    onPostgres ? { unserved: [], unheard: [] } : {},
  );
  expect(report).toMatchObject({
    table: expect.stringMatching(/\.tasks$/),
    unserved: [{ topic: 'b', subscriptionId: null, count: 1 }],
    unheard: [{ id: 'crm', topic: 'paid' }],
    unknown: [],
    purgeable: { count: 0, isCapped: false },
  });
  expect(report['counts']).toContainEqual(
    expect.objectContaining({ topic: 'b', status: 'pending', count: 1 }),
  );
});

test('a task that runs is shown with its progress', async () => {
  const release = deferred();
  class Counting {
    @TaskHandler('count')
    async count(_: unknown, ctx: TaskContext): Promise<void> {
      ctx.progress(0.25);
      await release.promise;
    }
  }
  const { queue } = await bench.start({ handlers: [Counting] });
  const id = await queue.insertTask({ topic: 'count' });
  await until(async () => (await bench.row(id)).mensagem === '25 %', 'the progress to be written');
  const { code, stdout } = await cli.run(['task', id]);
  const json = await cli.json(['task', id]);
  release.resolve();
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^task ${id}: count, processing\n`));
  expect(stdout).toMatch(new RegExp(`^ +1 +${id} +processing .* 25 %$`, 'm'));
  expect(json).toMatchObject({ current: { status: 'processing', message: '25 %' } });
});

test('a detached process stands among the workers, with the one that has started it and the file of its output', async () => {
  const { worker } = await bench.start({ pollIntervalMs: 0 });
  const output = '/var/log/shop/tasks-17-1.log';
  await bench.pool.query(
    `insert into tasks_worker (host, pid, version, concurrency, routes, dead_routes, lease_until, parent, output)
     values ('shop-1', 4711, '0', 1, $1, $1, now() + interval '50 seconds', $2, $3)`,
    [routeList(), worker.id, output],
  );
  const [line] = /^.* shop-1 .*$/m.exec((await cli.run(['status'])).stdout) ?? [];
  expect(line).toMatch(
    new RegExp(
      ` 4711 .* by its lease .* a detached attempt, started by worker ${worker.id}; output in ${output}$`,
    ),
  );
  const { workers } = await cli.json<{ readonly workers: readonly object[] }>(['status']);
  expect(workers).toContainEqual(expect.objectContaining({ host: 'shop-1', parent: worker.id, output }));
  await bench.pool.query(`delete from tasks_worker where host = 'shop-1'`);
});

test('the status tells of publications that reached nobody, as QueueAdmin.status() does', async () => {
  const { queue, events, close } = await bench.start({ pollIntervalMs: 0 });
  const discarded = nextEvent(events, 'publication.discarded');
  await queue.insertTaskPubSub({ topic: 'unheard of', payload: {} });
  await discarded;
  // What a process has counted is written at its end at the latest.
  await close();
  const told = { kind: 'discarded', topic: 'unheard of', subscriptionId: null, count: 1 };
  expect(await cli.json(['status'])).toMatchObject({ problems: [told] });
  expect((await cli.run(['status'])).stdout).toMatch(
    /^1 publication of topic unheard of reached nobody in the last hour: no active subscription matched$/m,
  );
  const { app } = await bench.start({ worker: false });
  expect((await app.get(QueueAdmin).status()).problems).toEqual([told]);
  await bench.pool.query('truncate tasks_history');
});

test('tasks that gave up stand in the status as treated and untreated ones, and can be listed apart', async () => {
  await bench.start({ worker: false });
  expect((await cli.run(['status'])).stdout).not.toMatch(/gave up/);
  const [treated, untreated] = await cli.rows(
    'processo, status, estouro_tentativas',
    `'a', 'falha', true`,
    `'b', 'falha', true`,
  );
  await cli.rows(
    'processo, dead, live_id, status, mensagem',
    `'a', true, ${treated}, 'sucesso', 'refunded'`,
    `'b', true, ${untreated}, 'pendente', null`,
  );
  expect(await cli.json(['status'])).toMatchObject({
    buried: { treated: 1, untreated: 1, isCapped: false },
    problems: expect.arrayContaining([{ kind: 'untreated', count: 1, isCapped: false }]) as unknown,
  });
  const { stdout } = await cli.run(['status']);
  expect(stdout).toMatch(/^gave up {9}1 untreated, 1 treated by dead handlers$/m);
  expect(stdout).toMatch(/^1 task gave up and no dead handler has dealt with it: /m);
  const list = async (option: string): Promise<readonly string[]> =>
    (await cli.json<Listed>(['tasks', option])).tasks.map(({ id }) => id);
  expect(await list('--untreated')).toEqual([untreated]);
  expect(await list('--buried')).toEqual([untreated, treated]);
});

/** One that waits and one that is for later, for nobody who works here. */
async function fill(queue: {
  insertTask(input: { topic: string; delayMs: number }): Promise<string>;
}): Promise<void> {
  await queue.insertTask({ topic: 'c', delayMs: 3_600_000 });
  await cli.rows('processo, data_hora, prioridade', `'b', now() - interval '1 hour', 50`);
}

/** Until standard output says enough. */
async function watch(
  args: readonly string[],
  isEnough: (text: string) => boolean,
  terminal?: number,
): Promise<string> {
  const controller = new AbortController();
  const { code, stdout, stderr } = await cli.run(['status', '--watch', '--interval', '0.1', ...args], {
    signal: controller.signal,
    onOutput: (text) => isEnough(text) && controller.abort(),
    ...(terminal === undefined ? {} : { terminal }),
  });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

test('watched, it comes again and again until Ctrl-C: one document a line, or redrawn in place', async () => {
  await bench.start({ worker: false });
  const lines = await watch(['--json'], (text) => text.trim().split('\n').length >= 3);
  const reports = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { table: string });
  expect(reports.every(({ table }) => table.endsWith('.tasks'))).toBe(true);
  const drawn = await watch([], (text) => text.split('\u001b[2J').length >= 3, 120);
  expect(drawn.startsWith('\u001b[H\u001b[2J')).toBe(true);
});
