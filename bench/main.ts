import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../lib/index.js';
import { drain } from './scenarios/drain.js';
import { enqueueBatches, enqueueSingly } from './scenarios/enqueue.js';
import { wait } from './scenarios/wait.js';
import type { Scenario } from './scenario.js';

const scenarios: readonly Scenario[] = [
  enqueueSingly(1, 5_000),
  enqueueSingly(16, 30_000),
  enqueueBatches(1_000, 200_000),
  drain({ name: 'drain, defaults', tasks: 50_000 }),
  drain({ name: 'drain, concurrency 100', tasks: 100_000, concurrency: 100 }),
  drain({ name: 'drain, concurrency 500', tasks: 200_000, concurrency: 500 }),
  drain({ name: 'drain, concurrency 100, 10 topics', tasks: 100_000, concurrency: 100, topics: 10 }),
  drain({ name: 'one transaction per task, defaults', tasks: 20_000, writes: true }),
  drain({ name: 'one transaction per task, concurrency 32', tasks: 20_000, concurrency: 32, writes: true }),
  wait(50, 10),
];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    runs: { type: 'string' },
    scenario: { type: 'string', default: '' },
  },
});
const scale = values.quick ? 0.2 : 1;
const runs = Number(values.runs ?? (values.quick ? 1 : 3));
const chosen = scenarios.filter(({ name }) => name.includes(values.scenario));

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const dataDir = await mkdtemp(join(tmpdir(), 'tarefa-bench-'));
// Under root the server is another user, who must reach it.
await chmod(dataDir, 0o755);
const server = await startEmbeddedPostgres({ dataDir, settings: { shared_buffers: '1GB' } });
try {
  await printSettings(server.url);
  for (const scenario of chosen) {
    const results: Readonly<Record<string, number>>[] = [];
    for (let index = 0; index < runs; index += 1)
      results.push(await scenario.run({ url: server.url, scale }));
    print(JSON.stringify({ scenario: scenario.name, runs, ...medians(results) }));
  }
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function printSettings(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ settings: Record<string, string> }>(
    `select json_object_agg(name, setting) as settings from pg_settings
     where name in ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size')`,
  );
  await client.end();
  print(JSON.stringify({ node: process.version, postgres: rows[0]?.settings }));
}

function medians(results: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  return Object.fromEntries(
    Object.keys(results[0] ?? {}).map((key) => {
      const sorted = results.map((result) => result[key] ?? 0).sort((a, b) => a - b);
      return [key, sorted[Math.floor(sorted.length / 2)] ?? 0];
    }),
  );
}
