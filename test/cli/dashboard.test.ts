import { beforeAll, expect, test } from 'vitest';
import { ask, act } from '../dashboard/kit/ask.js';
import { createQueue } from '../support/queue-app.js';
import { deferred } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';
import { spawnCli } from './support.js';

const bench = useQueue();
const cli = useCli(bench);

beforeAll(() => createQueue(bench.database));

/** One that runs in this process, and what it says. */
async function start(args: readonly string[] = []) {
  const controller = new AbortController();
  const printed = deferred<string>();
  const ended = cli.run(['dashboard', ...args], {
    signal: controller.signal,
    onOutput: (text) => {
      const [address] = /http:\/\/\S+key=\S+(?=\n)/.exec(text) ?? [];
      if (address !== undefined) printed.resolve(address);
    },
  });
  const address = new URL(
    await Promise.race([
      printed.promise,
      ended.then((result) => Promise.reject(new Error(JSON.stringify(result)))),
    ]),
  );
  const page = `${address.origin}${address.pathname}`;
  const cookie = ((await ask(address.href)).headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return { address, page, cookie, ended, stop: () => controller.abort() };
}

test('it is for this computer and whoever has its key, read-only, until Ctrl-C', async () => {
  const { address, page, cookie, ended, stop } = await start();
  expect(address.hostname).toBe('127.0.0.1');
  const shown = await ask(address.href);
  expect(shown.status).toBe(200);
  expect(shown.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/);
  expect((await ask(`${page}/api/overview`, { headers: { cookie } })).status).toBe(200);
  for (const headers of [{}, { cookie: 'tarefa=1' }, { cookie: `${cookie}x` }]) {
    expect((await ask(`${page}/api/overview`, { headers })).status).toBe(403);
  }
  expect((await ask(`${page}?key=${'A'.repeat(32)}`)).status).toBe(403);
  const [id = ''] = await cli.rows('processo, status', `'a', 'falha'`);
  expect((await act(page, 'retry', { id }, { cookie })).body).toMatchObject({ code: 'ACTION_FORBIDDEN' });
  stop();
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});

test('--actions lets tasks be changed, --redact and --no-payloads hide', async () => {
  const { page, cookie, ended, stop } = await start(['--actions', '--redact', 'cpf']);
  const [id = ''] = await cli.rows('processo, status, payload', `'a', 'falha', '{"cpf": "1"}'`);
  expect((await act(page, 'retry', { id }, { cookie })).status).toBe(200);
  const { text } = await ask(`${page}/api/tasks/${id}/payload`, { headers: { cookie } });
  expect(text).toContain('[redacted]');
  stop();
  await ended;
  const hidden = await start(['--no-payloads']);
  const headers = { cookie: hidden.cookie };
  expect((await ask(`${hidden.page}/api/tasks/${id}/payload`, { headers })).status).toBe(403);
  hidden.stop();
  await hidden.ended;
});

test.each([
  ['a port that is none', ['--port', '70000'], 1, /port/],
  ['a word too many', ['now'], 1, /now/],
  ['a queue that is not there', ['--table', 'nobody'], 2, /nobody/],
])('%s is refused', async (_what, args, code, message) => {
  const result = await cli.run(['dashboard', ...args]);
  expect(result.code).toBe(code);
  expect(result.stderr).toMatch(message);
});

test('a process of its own serves the page, in three files that are small, and ends when it is told to', async () => {
  const child = spawnCli(['dashboard', '--json'], cli.env);
  await expect.poll(() => child.stdout, { timeout: 20_000, message: child.stderr }).toContain('"url"');
  const url = new URL(
    (JSON.parse(child.stdout.split('\n').find((line) => line.includes('"url"')) ?? '') as { url: string })
      .url,
  );
  const first = await ask(url.href);
  const cookie = (first.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const files = ['main.js', 'page.css', 'pt.js', 'icon.svg'];
  const answers = await Promise.all(
    files.map((file) => ask(`${url.origin}${url.pathname}/assets/${file}`, { headers: { cookie } })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const bytes = [first, ...answers].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  expect(bytes).toBeLessThan(170_000);
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
