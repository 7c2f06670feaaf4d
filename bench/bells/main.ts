// What bells cost and gain: npm run bench:bells -- [--runs 3] [--quick]. It starts its own servers.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { log } from '../command-line.js';
import { compiledFolder } from '../folders.js';
import { BenchProcess } from '../processes/bench-process.js';
import { PostgresServer } from '../servers/postgres-server.js';
import { waitFigures } from '../scenarios/wait.js';
import { median, round } from '../statistics.js';
import { table } from '../tarefa/queue.js';
import { startServers, type StartedServers } from './servers.js';

const perSecond = 50;
const connections = 16;
const settleMs = 1_000;

/** Where tasks are, and what wakes workers there; undefined: what the database does by itself. */
interface Way {
  readonly name: string;
  readonly url: string;
  readonly bell: string | undefined;
}

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '3' }, quick: { type: 'boolean', default: false } },
});
const seconds = values.quick ? { wait: 2, insert: 1 } : { wait: 10, insert: 4 };
const postgres = await PostgresServer.start();
try {
  const direct = await postgres.createDatabase('bells');
  const servers = await startServers(direct);
  try {
    await run(direct, servers);
  } finally {
    await servers.stop();
  }
} finally {
  await postgres.stop();
}

async function run(direct: string, { pooled, mariadb, bells }: StartedServers): Promise<void> {
  const listening = { name: 'PostgreSQL, LISTEN', url: direct, bell: undefined };
  const ways: Way[] = [listening];
  for (const [place, url] of [
    ['PgBouncer', pooled],
    ['MariaDB', mariadb],
  ] as const) {
    if (url === undefined) continue;
    ways.push(...[undefined, ...bells].map((bell) => ({ name: `${place}, ${nameOf(bell)}`, url, bell })));
  }
  const all = new Map(ways.map((way) => [way, { waits: [] as number[], rates: [] as number[] }]));
  for (let index = 0; index < Number(values.runs); index += 1) {
    for (const [way, { waits, rates }] of all) {
      waits.push(await measureWait(way));
      rates.push(await measureInserts(way));
      log(`${way.name}: wait p50 ${waits.at(-1)} ms, ${rates.at(-1)} inserts/s`);
    }
  }
  const base = all.get(listening);
  for (const [{ name, url }, { waits, rates }] of all) {
    const silent = [...all].find(([way]) => way.url === url && way.bell === undefined)?.[1];
    process.stdout.write(
      `${JSON.stringify({
        name,
        waitMs: median(waits),
        toListen: round(median(waits) / median(base?.waits ?? [])),
        insertsPerSecond: median(rates),
        toSilent: round(median(rates) / median(silent?.rates ?? [])),
      })}\n`,
    );
  }
}

function nameOf(bell: string | undefined): string {
  return bell === undefined ? 'no bell' : new URL(bell).protocol.slice(0, -1);
}

/** From the call that inserts in one process to the first line of the handler in another: the median. */
async function measureWait(way: Way): Promise<number> {
  return withProcesses(way, async (desk, worker) => {
    const sent = perSecond * seconds.wait + 1;
    await worker.call('work', 'empty', sent);
    await pause(settleMs);
    await desk.call('enqueueEvenly', perSecond, seconds.wait);
    await pause(settleMs);
    const { waitsMs, started } = await worker.call('worked');
    return round(waitFigures(waitsMs.slice(perSecond), started).medianMs ?? Number.NaN);
  });
}

async function measureInserts(way: Way): Promise<number> {
  return withProcesses(way, async (desk) => {
    const produced = await desk.call('enqueueSingly', connections, seconds.insert, false);
    return round(produced.tasks / produced.seconds);
  });
}

async function withProcesses<T>(
  { url, bell }: Way,
  measure: (desk: BenchProcess, worker: BenchProcess) => Promise<T>,
): Promise<T> {
  const processes = [new BenchProcess(process.execPath), new BenchProcess(process.execPath)] as const;
  const adapter = new URL('tarefa/adapter.js', compiledFolder).href;
  const surroundings = { database: url, redisPort: undefined, setting: 'default', topics: 1, bell };
  try {
    for (const one of processes) await one.call('open', adapter, surroundings);
    await processes[0].call('setup');
    return await measure(...processes);
  } finally {
    await Promise.all(processes.map((one) => one.kill()));
    await clear(url);
  }
}

/** What was inserted and not run must not be run in the next measurement. */
async function clear(url: string): Promise<void> {
  if (url.startsWith('mysql:')) {
    const connection = await createConnection(url);
    await connection.query(`truncate table ${table}`);
    await connection.end();
    return;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`truncate ${table}`);
  await client.end();
}
