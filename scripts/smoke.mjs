// Starts the sample application as a user does, with `npm start`, places an order, follows it to the end and stops
// the application. Fails with a sentence that says what did not happen.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// A database of its own, so that it neither meets nor changes what the developer has. Root's server runs as another
// user, who has to get in.
const dataDir = mkdtempSync(join(tmpdir(), 'tarefa-smoke-'));
chmodSync(dataDir, 0o755);
// A first start may install the packages and make a database.
const startTimeoutMs = 10 * 60_000;
const deliveryTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
const active = ['scheduled', 'retrying', 'pending', 'processing', 'agendada', 'pendente', 'processando'];

const application = await startApplication();
let exitCode = 0;
try {
  await smoke();
} catch (error) {
  exitCode = 1;
  say(`FAILED: ${error.message}`);
  say(`What \`npm start\` printed last:\n${application.output.split('\n').slice(-40).join('\n')}`);
  await application.stop().catch(() => application.child.kill('SIGKILL'));
}
rmSync(dataDir, { recursive: true, force: true });
process.exit(exitCode);

async function smoke() {
  const address = await application.address();
  say(`started: ${address}`);
  const health = await request(`${address}/health`, 200);
  say(`GET /health: ${JSON.stringify(health)}`);
  const order = { customer: 'Ana', items: [{ sku: 'tea', quantity: 1 }] };
  const { id, publicationId } = await request(`${address}/orders`, 201, order);
  if (id === undefined || publicationId === undefined) {
    throw new Error('the answer to POST /orders has no id or no publicationId');
  }
  say(`POST /orders: order ${id}, publication ${publicationId}`);
  for (const { status, attempts, message } of await followDeliveries(`${address}/orders/${id}`)) {
    say(`  ${status}, ${attempts} attempt(s): ${message ?? ''}`);
  }
  const guide = await (await fetch(address)).text();
  if (!guide.includes(`${address}/queues`)) throw new Error(`GET / does not say what there is: ${guide}`);
  const before = application.output.slice(0, application.output.indexOf('The shop is open'));
  const lines = before.split('\n').filter((line) => line.includes('[Nest]'));
  if (lines.length >= 10) throw new Error(`${lines.length} lines of log come before the welcome`);
  say(`GET /: what there is; ${lines.length} lines of log came before the welcome`);
  const authorization = await lookAtDashboard(`${address}/queues`);
  await useDashboard(address, authorization);
  const serverFile = findServerFile();
  const { code, signal } = await application.stop();
  if (code !== 0)
    throw new Error(`after SIGTERM npm ended with ${signal ?? `exit code ${code}`} instead of 0`);
  if (serverFile !== undefined && existsSync(serverFile)) {
    throw new Error(`PostgreSQL was not stopped: ${serverFile} is still there`);
  }
  say(`stopped${serverFile === undefined ? '' : ', and its PostgreSQL with it'}`);
}

/** For the staff only, with the password that was printed. */
async function lookAtDashboard(url) {
  const password = /with the password (\S+):/.exec(application.output)?.[1];
  const stranger = await fetch(url);
  if (stranger.status !== 401) throw new Error(`${url} answered ${stranger.status} to a stranger`);
  const authorization = `Basic ${Buffer.from(`staff:${password}`).toString('base64')}`;
  const page = await fetch(url, { headers: { authorization } });
  const overview = await fetch(`${url}/api/overview`, { headers: { authorization } });
  const { workers } = await overview.json();
  if (page.status !== 200 || workers?.length !== 2) {
    throw new Error(`${url} answered ${page.status}, and its overview ${JSON.stringify(workers)}`);
  }
  say(`GET /queues: the dashboard, with ${workers.length} workers`);
  return authorization;
}

/** What the page's buttons send, each on a task or subscription of the shop. */
async function useDashboard(address, authorization) {
  const headers = { authorization };
  const act = (action, body) =>
    request(`${address}/queues/api/actions/${action}`, 200, body, {
      ...headers,
      'x-tarefa-dashboard': '1',
    });
  const find = async (query, most = 50) => {
    for (let look = 0; look < most; look += 1) {
      const url = `${address}/queues/api/tasks?latest=true&${query}`;
      const { tasks } = await (await fetch(url, { headers })).json();
      if (tasks.length > 0) return tasks[0].id;
      await sleep(200);
    }
    throw new Error(`no task matches ${query}`);
  };
  await request(`${address}/orders`, 201, { customer: 'Zoë', items: [{ sku: 'unicorn', quantity: 1 }] });
  const failed = await find('status=failed&subscription=stock');
  await act('retry', { id: failed });
  await find(`status=failed&subscription=stock&dead=false`);
  const filter = { subscription: 'stock' };
  const { total, lastId } = await act('retry-all/count', { filter });
  const { done } = await act('retry-all', { filter, lastId, after: '0' });
  await act('pause', { subscriptionId: 'receipt', paused: true });
  await request(`${address}/orders`, 201, { customer: 'Bo', items: [{ sku: 'tea', quantity: 1 }] });
  await act('cancel', { id: await find('status=pending&subscription=receipt') });
  await act('pause', { subscriptionId: 'receipt', paused: false });
  await act('edit-subscription', { id: 'search-index', tenant: '7' });
  await act('edit-subscription', { id: 'search-index', tenant: null });
  say(`the dashboard retried ${1 + done} of ${1 + total}, paused, cancelled, edited and resumed`);
}

async function followDeliveries(url) {
  const deadline = performance.now() + deliveryTimeoutMs;
  for (;;) {
    const { deliveries } = await request(url, 200);
    if (!Array.isArray(deliveries))
      throw new Error('the answer to GET /orders/:id has no list of deliveries');
    if (deliveries.length > 0 && deliveries.every(({ status }) => !active.includes(status)))
      return deliveries;
    if (performance.now() > deadline) {
      throw new Error(
        `after ${deliveryTimeoutMs / 1000} s not every delivery has ended: ${JSON.stringify(deliveries)}`,
      );
    }
    await sleep(200);
  }
}

async function request(url, expected, body, headers = {}) {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(15_000),
    ...(body && {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  }).catch((error) => {
    throw new Error(`${url} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const text = await response.text();
  if (response.status !== expected)
    throw new Error(`${url} answered ${response.status} ${text}, not ${expected}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} answered what is not JSON: ${text}`);
  }
}

async function startApplication() {
  const port = await findFreePort();
  const npm = process.env.npm_execpath?.endsWith('npm-cli.js') ? process.env.npm_execpath : undefined;
  const child = spawn(npm ? process.execPath : 'npm', npm ? [npm, 'start'] : ['start'], {
    cwd: root,
    env: { ...process.env, PORT: String(port), TAREFA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: npm === undefined && process.platform === 'win32',
  });
  const started = { output: '', ended: undefined, child };
  const ending = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: error.message }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  }).then((end) => (started.ended = end));
  const pattern = new RegExp(`https?://(?:127\\.0\\.0\\.1|localhost|\\[::1\\]):${port}\\b`);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (started.output += text));
  }
  return Object.assign(started, {
    async address() {
      const deadline = performance.now() + startTimeoutMs;
      while (performance.now() < deadline) {
        const [found] = pattern.exec(started.output) ?? [];
        if (found !== undefined) return found.replace('localhost', '127.0.0.1');
        if (started.ended)
          throw new Error(`\`npm start\` ended by itself with ${JSON.stringify(started.ended)}`);
        await sleep(50);
      }
      throw new Error(`\`npm start\` printed no address with port ${port} in ${startTimeoutMs / 1000} s`);
    },
    async stop() {
      if (started.ended === undefined) child.kill('SIGTERM');
      const end = await Promise.race([ending, sleep(stopTimeoutMs, undefined, { ref: false })]);
      if (end === undefined) throw new Error(`it did not stop within ${stopTimeoutMs / 1000} s of SIGTERM`);
      return end;
    },
  });
}

/** The file that the embedded server has while it runs; with DATABASE_URL there is none. */
function findServerFile() {
  if (process.env.DATABASE_URL) return undefined;
  const pointer = join(dataDir, 'location');
  const home = existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : dataDir;
  const file = join(home, 'data/postmaster.pid');
  if (!existsSync(file)) throw new Error(`no embedded PostgreSQL runs in ${home}`);
  return file;
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
