import { Injectable } from '@nestjs/common';
import { userInfo } from 'node:os';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { haltText } from '../../lib/coordination/ring.js';
import { lockIsWaitedFor } from '../support/locks.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
const cli = useCli(bench);

let hold = deferred();

@Injectable()
class Handlers {
  @TaskHandler('hold')
  async hold(): Promise<void> {
    await hold.promise;
  }
}

const statuses = async (): Promise<unknown[]> => {
  const { rows } = await bench.pool.query<{ one: string }>(
    `select concat_ws(' ', id - (select min(id) from tasks), status, case when dead then 'dead' end, rodada) as one from tasks order by id`,
  );
  return rows.map(({ one }) => one);
};

interface Results {
  readonly tasks: readonly {
    readonly id: string;
    readonly done: boolean;
    readonly [field: string]: unknown;
  }[];
}

test('tasks are retried, cancelled and buried by their ids; what is refused does not keep the others', async () => {
  await bench.start({ worker: false });
  const [failed = '', waiting = '', later = '', done = ''] = await cli.rows(
    'processo, status, data_hora',
    `'a', 'falha', now()`,
    `'a', 'pendente', now()`,
    `'a', 'agendada', now() + interval '1 hour'`,
    `'a', 'sucesso', now()`,
  );
  const retried = await cli.run(['retry', failed, done, '999999', failed]);
  expect(retried.code).toBe(3);
  expect(retried.stdout).toMatch(new RegExp(`^task ${failed} retried: its next attempt is \\d+\n$`));
  expect(retried.stderr).toContain(`task ${done} cannot be retried: only failed or cancelled tasks can be`);
  expect(retried.stderr).toContain('attempt 999999 not found');
  const refused = await cli.run(['cancel', done, '--json']);
  expect(refused.code).toBe(2);
  expect(JSON.parse(refused.stdout)).toMatchObject({
    tasks: [{ id: done, done: false, code: 'TASK_STATE' }],
  });
  const buried = await cli.json<Results>(['bury', waiting, '--reason', 'no more']);
  expect(buried.tasks).toMatchObject([
    { id: waiting, done: true, deadId: expect.stringMatching(/^\d+$/) as unknown },
  ]);
  expect((await bench.row(waiting)).mensagem).toBe('no more');
  expect(await cli.run(['cancel', later])).toMatchObject({ code: 0, stdout: `task ${later} cancelled\n` });
  const user = userInfo().username;
  expect(await bench.row(later)).toMatchObject({ mensagem: `cancelled by ${user}`, cancelada_por: user });
  expect(await statuses()).toEqual([
    '0 falha 0',
    '1 falha 0',
    '2 falha 0',
    '3 sucesso 0',
    '4 pendente 1',
    '5 pendente dead 0',
  ]);
});

test('a task is spoken of by its number, whichever of its attempts it was named by', async () => {
  await bench.start({ worker: false });
  const [first = ''] = await cli.rows('processo, status, reenfileirado', `'a', 'falha', true`);
  const [later = ''] = await cli.rows(
    'processo, status, id_inicial, id_anterior, tentativa, data_hora',
    `'a', 'agendada', ${first}, ${first}, 2, now() + interval '1 hour'`,
  );
  expect((await cli.run(['tasks', '--latest'])).stdout).toMatch(
    new RegExp(`\n *${first} +2 \\(${later}\\) +retrying `),
  );
  expect((await cli.run(['status'])).stdout).toMatch(
    new RegExp(`^next scheduled .*: task ${first}, a$`, 'm'),
  );
  expect(await cli.run(['run-now', later])).toMatchObject({ code: 0, stdout: `task ${first} is due now\n` });
  expect((await cli.run(['status'])).stdout).toMatch(new RegExp(`^lag .*: task ${first}, a$`, 'm'));
  expect(await cli.run(['cancel', later])).toMatchObject({ code: 0, stdout: `task ${first} cancelled\n` });
  expect((await cli.run(['cancel', later])).stderr).toContain(`task ${first} cannot be cancelled`);
  const asked = await cli.run(['delete', later]);
  expect(asked.stderr).toContain(`Delete task ${first} with its whole history?`);
  expect(await cli.run(['delete', later, '--yes'])).toMatchObject({
    code: 0,
    stdout: `task ${first} deleted with its 2 attempts\n`,
  });
});

test.each<[readonly string[], RegExp]>([
  [['retry'], /no task given/],
  [['cancel', 'a'], /"a" is not an attempt/],
  [['bury', '1', 'b'], /"b" is not an attempt/],
  [['retry', '--all', '1'], /ids or --all, not both/],
  [['retry', '1', '--topic', 'a'], /--topic requires --all/],
  [['retry', '1', '--dry-run'], /--dry-run requires --all/],
  [['retry', '1', '--status', 'cancelled'], /--status requires --all/],
  [['retry', '--all', '--publication', 'x'], /"x" is not an attempt/],
  [['halt', 'now'], /halt takes no arguments/],
  [['halt', '--timeout', 'x'], /--timeout must be a number/],
])('%j is refused, and nothing is done', async (args, problem) => {
  await bench.start({ worker: false });
  await cli.rows('processo, status', `'a', 'falha'`);
  const { code, stdout, stderr } = await cli.run(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
  expect(await statuses()).toEqual(['0 falha 0']);
});

test('all failed tasks that filters choose are retried: counted, asked about, and no others', async () => {
  await bench.start({ worker: false });
  await cli.rows(
    'processo, status, dead, data_hora, cancelada_por',
    `'a', 'falha', false, now(), null`,
    `'a', 'falha', true, now(), null`,
    `'a', 'falha', false, now() - interval '3 days', null`,
    `'b', 'falha', false, now(), null`,
    `'a', 'sucesso', false, now(), null`,
    // Cancelled: it is none of the failed ones.
    `'a', 'falha', false, now(), 'ana'`,
  );
  const before = await statuses();
  const filter = ['retry', '--all', '--topic', 'a', '--since', '1d'];
  const dry = await cli.run([...filter, '--dry-run']);
  expect(dry.code).toBe(0);
  expect(dry.stdout).toMatch(/^topic +subscription +failed +oldest\na +1 +2.*\n1 failed task\n$/);
  const unasked = await cli.run(filter);
  expect(unasked.code).toBe(1);
  expect(unasked.stderr).toMatch(
    /Retry 1 task\? Confirmation requires a terminal: give --yes, or check first with --dry-run/,
  );
  for (const input of ['n\n', '', 'what\n', Readable.from([])]) {
    const no = await cli.run(filter, { terminal: 80, input });
    expect(no).toMatchObject({ code: 0, stderr: 'Retry 1 task? [y/N] ' });
    expect(no.stdout).toMatch(/nothing was retried\n$/);
  }
  expect(await statuses()).toEqual(before);
  const yes = await cli.run(filter, { terminal: 80, input: 'yes\n' });
  expect(yes.code).toBe(0);
  expect(yes.stdout).toMatch(/1 of 1 tasks retried\n$/);
  expect(yes.stderr).toMatch(/\rretrying \[#{24}\] 1 of 1 .*\n$/);
  expect(await statuses()).toEqual([...before, '6 pendente 1']);
  expect(await cli.json([...filter, '--dead', '--yes'])).toMatchObject({
    failed: 1,
    retried: 1,
    finished: true,
  });
  expect(await cli.json(['retry', '--all', '-y'])).toMatchObject({ failed: 2, retried: 2 });
  expect((await cli.run(['retry', '--all'])).stdout).toBe('no failed task matches\n');
});

test('what somebody else has changed meanwhile is left out of a retry of all, and said', async () => {
  await bench.start({ worker: false });
  const [first = ''] = await cli.rows('processo, status', `'a', 'falha'`, `'a', 'falha'`);
  const locker = await bench.connect();
  await locker.query(`begin; select from tasks where id = ${first} for update`);
  const answer = await cli.run(['retry', '--all', '--yes']);
  expect(answer).toMatchObject({ code: 3, stderr: 'the other tasks were changed in the meantime\n' });
  expect(answer.stdout).toMatch(/1 of 2 tasks retried\n$/);
});

test('Ctrl-C ends a retry of all after a block', async () => {
  await bench.start({ worker: false });
  await bench.pool.query(
    `insert into tasks (processo, status) select 'a', 'falha' from generate_series(1, 1200)`,
  );
  const controller = new AbortController();
  const answer = await cli.run(['retry', '--all', '--yes'], {
    signal: controller.signal,
    terminal: 80,
    onError: (text) => text.includes('retrying') && controller.abort(),
  });
  expect(answer.code).toBe(3);
  expect(answer.stdout).toMatch(/500 of 1,200 tasks retried\n$/);
  expect(answer.stderr).toMatch(/interrupted before it was finished\n$/);
});

test('topics and subscriptions are paused, listed and resumed', async () => {
  const { app } = await bench.start({ worker: false });
  const admin = app.get(QueueAdmin);
  expect(await cli.run(['pause', '--topic', 'a'])).toMatchObject({ code: 0, stdout: 'topic a paused\n' });
  expect(await cli.json(['pause', '--subscription', 'index'])).toMatchObject({
    paused: [{ subscriptionId: 'index' }, { topic: 'a' }],
  });
  expect((await cli.run(['pause', '--topic='])).stdout).toBe('tasks without a topic paused\n');
  expect(await admin.paused()).toHaveLength(3);
  const { stdout } = await cli.run(['resume']);
  expect(stdout).toMatch(/^paused +since\nsubscription index +2.*\ntasks without a topic +2.*\ntopic a +2/);
  for (const args of [['--topic', 'a'], ['--topic='], ['--subscription', 'index']])
    await cli.run(['resume', ...args]);
  expect((await cli.run(['pause'])).stdout).toBe('nothing is paused\n');
});

testOnPostgres('halt tells the workers of the queue to stop, and waits until they have', async () => {
  hold = deferred();
  expect((await bench.start({ worker: false })).worker).toBeDefined();
  const nobody = await cli.run(['halt', '--wait']);
  expect(nobody).toMatchObject({ code: 0, stdout: 'no worker is running\nall workers have stopped\n' });
  const { queue, worker, events } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'hold' });
  await until(async () => (await bench.statusOf(id)) === 'processando', 'it runs');
  await bench.pool.query(`insert into tasks_worker (host, pid, version, concurrency, routes, lease_until)
    values ('leased', 1, '0', 1, '{}', now() + interval '10 seconds')`);
  const listener = await bench.connect();
  const heard: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => heard.push(payload));
  await listener.query('listen tasks');

  const busy = await cli.run(['halt', '--wait', '--timeout', '0']);
  expect(busy).toMatchObject({
    code: 3,
    stdout: '2 workers were told to stop; 1 behind a pooler will notice at the next poll\n',
  });
  expect(busy.stderr).toMatch(
    new RegExp(
      `^still running: workers ${worker.id} \\(.*, pid ${process.pid}\\), \\d+ \\(leased, pid 1\\)\n$`,
    ),
  );
  await listener.query('select 1');
  expect(heard).toEqual([haltText]);
  const { rows: told } = await bench.pool.query('select host from tasks_worker where halt_at is not null');
  expect(told).toHaveLength(2);
  await bench.pool.query(`delete from tasks_worker where host = 'leased'`);
  const stopped = nextEvent(events, 'worker.stopped');
  const waiting = cli.json<{ listening: number; stillRunning: unknown[] }>([
    'halt',
    '--wait',
    '--timeout',
    '20',
  ]);
  hold.resolve();
  expect(await waiting).toMatchObject({ stillRunning: [] });
  await stopped;
  expect(await bench.statusOf(id)).toBe('sucesso');
});

test('Ctrl-C ends a command that waits for an answer of the database', async () => {
  await bench.start({ worker: false });
  const locker = await bench.connect();
  await locker.query('begin; lock table tasks_paused in access exclusive mode');
  const controller = new AbortController();
  const answer = cli.run(['pause'], { signal: controller.signal });
  await lockIsWaitedFor(bench.pool, 'tasks_paused');
  controller.abort();
  expect(await answer).toEqual({ code: 130, stdout: '', stderr: '' });
});

test('waiting tasks are cancelled, and idle ones deleted, by filters: counted, and only those', async () => {
  await bench.start({ worker: false });
  const [, retrying = '', , running = '', done = ''] = await cli.rows(
    'processo, status, tentativa, data_hora',
    `'a', 'agendada', 1, now() + interval '1 hour'`,
    `'a', 'agendada', 2, now() + interval '1 hour'`,
    `'a', 'pendente', 2, now()`,
    `'a', 'processando', 1, now()`,
    `'a', 'sucesso', 1, now()`,
  );
  const listed = await cli.json<{ tasks: { id: string; status: string }[] }>([
    'tasks',
    '--status',
    'retrying',
  ]);
  expect(listed.tasks.map(({ id, status }) => [id, status])).toEqual([[retrying, 'retrying']]);
  const cancel = ['cancel', '--all', '--topic', 'a', '--reason', 'off', '--by', 'ana'];
  expect(await cli.json([...cancel, '--status', 'retrying', '--dry-run'])).toMatchObject({
    waiting: 1,
    cancelled: 0,
  });
  expect(await cli.json([...cancel, '--status', 'retrying', '-y'])).toMatchObject({
    waiting: 1,
    cancelled: 1,
  });
  expect(await bench.row(retrying)).toMatchObject({ status: 'falha', mensagem: 'off', cancelada_por: 'ana' });
  expect(await cli.json(['retry', '--all', '-y'])).toMatchObject({ failed: 0, retried: 0 });
  expect(await cli.json([...cancel, '-y'])).toMatchObject({ waiting: 2, cancelled: 2, finished: true });
  expect((await cli.run(['status'])).stdout).toMatch(/^a .* 3$/m);
  expect((await cli.run(['task', retrying])).stdout).toMatch(/, cancelled\n +cancelled by +ana\n/);
  const asked = await cli.run(['retry', '--all', '--status', 'cancelled', '--dry-run']);
  expect(asked.stdout).toMatch(/cancelled +oldest\na +3 .*\n3 cancelled tasks\n$/);
  const refused = await cli.run(['delete', done, running]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Delete 2 tasks with') });
  expect(await cli.run(['delete', done, running, '--yes'])).toMatchObject({
    code: 3,
    stdout: `task ${done} deleted with its attempt\n`,
    stderr: expect.stringContaining('is processing'),
  });
  expect(await cli.json(['delete', '--all', '--yes'])).toMatchObject({ deletable: 3, deleted: 3 });
  expect(await statuses()).toEqual(['0 processando 0']);
  const [later = ''] = await cli.rows('data_hora', `now() + interval '1 hour'`);
  expect(await cli.run(['run-now', later])).toMatchObject({ code: 0, stdout: `task ${later} is due now\n` });
  expect(await bench.statusOf(later)).toBe('pendente');
  const bad = await cli.run(['insert', '--topic', 'a', '--payload', '{bad']);
  expect(bad).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is not JSON, so it is inserted as text'),
  });
});
