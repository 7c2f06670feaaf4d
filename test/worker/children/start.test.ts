import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { DeadTaskHandler, TaskHandler } from '../../../lib/index.js';
import { resolveIsolation } from '../../../lib/options/isolation-options.js';
import { OptionCheck } from '../../../lib/options/option-check.js';
import { inherited } from '../../../lib/worker/children/child.js';
import { onPostgres } from '../../support/run-database.js';
import { nextEvent } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';
import { childFile, useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tarefa-isolated-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileWith(text: string): Promise<URL> {
  const file = join(folder, `${text.length}.mjs`);
  await writeFile(file, text);
  return pathToFileURL(file);
}

test('a module that is not there refuses the start', async () => {
  const module = pathToFileURL(join(folder, 'absent.js'));
  await expect(isolated.start({ module })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining(
      `isolation.module (${module.href}) cannot be loaded: Cannot find module`,
    ) as unknown,
  });
});

test('a module that throws when it is loaded refuses the start, with its error as the cause', async () => {
  const module = await fileWith("throw new Error('half a module');");
  await expect(isolated.start({ module })).rejects.toMatchObject({
    message: `isolation.module (${module.href}) cannot be loaded: half a module`,
    cause: { message: 'half a module' },
  });
});

test('a file without a module refuses the start', async () => {
  const module = await fileWith('export class Orders {}');
  await expect(isolated.start({ module })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: `isolation.module (${module.href}) exports no class with @Module(): export exactly one module that imports the queue and provides the handlers`,
  });
});

test('a process that ends while its module is loaded refuses the start', async () => {
  const module = await fileWith('process.exit(7);');
  await expect(isolated.start({ module })).rejects.toMatchObject({
    code: 'HANDLER_CRASHED',
    message: 'the thread of the handler exited with code 7',
  });
});

test('a module without the handler refuses the start, and names it', async () => {
  class Elsewhere {
    @TaskHandler('elsewhere', { isolate: 'thread' })
    work(): void {}
  }
  const module = childFile('isolated-module');
  process.env['ISOLATED_URL'] = bench.database.url;
  await expect(bench.start({ handlers: [Elsewhere], isolation: { module } })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message:
      `isolation.module (${module.href}) has no isolated handler Elsewhere.work: import the modules that provide them there, ` +
      `or leave out their isolate`,
  });
});

test('a handler is known by what it handles: a packed application may give its class another name', async () => {
  class A {
    @TaskHandler('greet', { isolate: 'thread' })
    b(): void {}
  }
  process.env['ISOLATED_URL'] = bench.database.url;
  const { queue } = await bench.start({
    handlers: [A],
    isolation: { module: childFile('isolated-module') },
  });
  const id = await queue.insertTask({ topic: 'greet', payload: { name: 'Ana' } });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
});

test('jobs of the application do not run in its threads, and a warning names them', async () => {
  class Scheduled {
    @TaskHandler('jobs', { isolate: 'thread' })
    jobs(): void {}
  }
  process.env['ISOLATED_URL'] = bench.database.url;
  const isolation = { module: childFile('scheduled-module'), threads: 1 };
  const { queue, worker, events } = await bench.start({
    handlers: [Scheduled],
    isolation,
    autoStart: false,
  });
  const warned = nextEvent(events, 'warning');
  await worker.start();
  expect((await warned).message).toBe(
    'isolation.module imports jobs of @nestjs/schedule (report, later report, tick, once), which are stopped in each thread: ' +
      'leave them out of that module',
  );
  const id = await queue.insertTask({ topic: 'jobs' });
  const { resultado } = await bench.ended(id);
  const result: unknown = typeof resultado === 'string' ? JSON.parse(resultado) : resultado;
  expect(result).toEqual({ listed: [], ticked: 0 });
});

test('a process gets the options of this one, but neither its program nor its inspector', () => {
  const given = [
    '--no-warnings',
    '-e',
    'run()',
    '--inspect-port',
    '0',
    '--inspect-brk',
    '--eval=run()',
    '-r',
    'x.js',
  ];
  expect(inherited(given)).toEqual(['--no-warnings', '-r', 'x.js']);
});

test('a module without the queue refuses the start', async () => {
  const module = childFile('isolated-module');
  class Named {
    @TaskHandler('named', { isolate: 'thread', queue: 'other' })
    work(): void {}
  }
  process.env['ISOLATED_URL'] = bench.database.url;
  await expect(
    bench.start({ name: 'other', handlers: [Named], isolation: { module } }),
  ).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message:
      `IsolatedModule of isolation.module does not import the queue 'other': import the same QueueModule.forRoot() there ` +
      `as in the application`,
  });
});

test('an isolated handler without the option refuses the start; the option without one starts nothing', async () => {
  class Lonely {
    @TaskHandler('lonely', { isolate: 'thread' })
    work(): void {}
  }
  await expect(bench.start({ handlers: [Lonely] })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(
      /^Lonely\.work has isolate, but the options of QueueModule have no isolation/,
    ) as unknown,
  });
  const module = pathToFileURL(join(folder, 'absent.js'));
  await bench.start({ isolation: { module } });
});

test('of an application that is a server only the parent is', async () => {
  const server = { notifyPort: await freePort(), lockPort: await freePort() };
  process.env['ISOLATED_OPTIONS'] = JSON.stringify({ server });
  onTestFinished(() => void delete process.env['ISOLATED_OPTIONS']);
  const { queue } = await isolated.start({}, { server });
  const id = await queue.insertTask({ topic: 'greet', payload: { name: 'Ana' } });
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
});

test('one processor is left to the event loop unless more threads are asked for, with a warning', async () => {
  const most = Math.min(5, Math.max(1, availableParallelism() - 1));
  const module = childFile('isolated-module');
  expect(resolveIsolation({ module }, new OptionCheck([]))).toMatchObject({ threads: most, processes: most });
  class Greeting {
    @TaskHandler('greet', { isolate: 'thread' })
    greet(): void {}
  }
  process.env['ISOLATED_URL'] = bench.database.url;
  const threads = availableParallelism();
  const { worker, events } = await bench.start({
    handlers: [Greeting],
    isolation: { module, threads },
    autoStart: false,
  });
  const warned = nextEvent(events, 'warning');
  const noticed = nextEvent(events, 'notice', ({ message }) => message.includes('isolated'));
  await worker.start();
  expect((await noticed).message).toBe(
    `isolated handlers run in up to ${threads} threads, which open up to ${(onPostgres ? 2 : 4) * threads} connections to the database`,
  );
  expect((await warned).message).toContain(`isolation.threads is ${threads}, but this machine has only`);
});

test('a handler and that of its dead tasks run in the same place', async () => {
  class Apart {
    @TaskHandler('apart', { isolate: 'thread' })
    work(): void {}
    @DeadTaskHandler('apart')
    bury(): void {}
  }
  class Any {
    @TaskHandler('one')
    work(): void {}
    @DeadTaskHandler({ isolate: 'process' })
    bury(): void {}
  }
  const isolation = { module: childFile('isolated-module') };
  await expect(bench.start({ handlers: [Apart], isolation })).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message:
      'Apart.work and Apart.bury, which handles its dead tasks, differ in isolate: they share one limit, so give both the same ' +
      'isolate, or none',
  });
  await expect(bench.start({ handlers: [Any], isolation })).rejects.toMatchObject({
    message: expect.stringMatching(/^Any\.work and Any\.bury, [^]* differ in isolate/) as unknown,
  });
});

async function freePort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((listening) => holder.listen(0, '127.0.0.1', listening));
  const { port } = holder.address() as AddressInfo;
  await new Promise((closed) => holder.close(closed));
  return port;
}

test('the options are checked, all at once', async () => {
  class Grouped {
    @TaskHandler('grouped', { isolate: 'thread', grouped: true, concurrency: 1 })
    work(): void {}
  }
  await expect(
    bench.start({ handlers: [Grouped], isolation: { module: childFile('absent') } }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(
      /give grouped or isolate, not both[^]*give concurrency or isolate, not both/,
    ) as unknown,
  });
  const isolation = { module: './tasks.js', threads: 0, maxMemoryMb: 1, thread: 2 };
  await expect(bench.start({ isolation })).rejects.toMatchObject({
    message: expect.stringMatching(
      /unknown option 'isolation\.thread'[^]*isolation\.maxMemoryMb must be[^]*isolation\.module must be the file: URL[^]*isolation\.threads must be/,
    ) as unknown,
  });
});
