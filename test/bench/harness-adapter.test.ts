import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { readRecord, type AdapterRecord } from '../../bench/harness/adapter/records.js';
import { useDatabase } from '../support/database.js';
import { forkChild } from '../support/processes.js';
import { until } from '../support/waiting.js';

const manifestFile = resolve(import.meta.dirname, '../../bench/harness/tarefa-bench/adapter.json');

const database = await useDatabase();

it('speaks the contract of the harness, and ends by itself at SIGTERM', async () => {
  const adapter = forkChild('harness-adapter', {
    env: {
      DATABASE_URL: database.url,
      PRODUCER_RATE: '100',
      JOB_WORK_MS: '200',
      WORKER_COUNT: '8',
      SAMPLE_EVERY_S: '1',
      BENCH_QUEUE_COUNT: '2',
      PRODUCER_RATE_CONTROL_FILE: undefined,
    },
  });
  const records = (): AdapterRecord[] =>
    adapter.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => readRecord(line) ?? fail(`not a record: ${line}`));
  const samplesOf = (metric: string): number[] =>
    records().flatMap((record) =>
      record.kind === 'adapter' && record.metric === metric ? [record.value] : [],
    );

  await until(async () => Math.max(0, ...samplesOf('completion_rate')) > 10, 'jobs are completed');
  await until(async () => Math.max(0, ...samplesOf('enqueue_rate')) > 80, 'jobs are offered at the rate');
  adapter.process.kill('SIGTERM');
  expect(await adapter.exit).toEqual({ code: 0, signal: null });
  // On a busy machine its own limit ends it, which is below the 5 s of the contract.
  expect(adapter.stderr).toMatch(/\[tarefa\] (stopped|did not stop in time; .*)\n$/);

  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as { event_tables: string[] };
  expect(records()[0]).toMatchObject({
    kind: 'descriptor',
    system: 'tarefa',
    event_tables: manifest.event_tables,
    extensions: [],
    db_name: new URL(database.url).pathname.slice(1),
  });
  const others = ['claim_p50_ms', 'claim_p95_ms', 'claim_p99_ms', 'queue_depth'];
  expect(others.filter((metric) => samplesOf(metric).length === 0)).toEqual([]);
  const { rows } = await database.pool.query('select distinct processo from bench.task order by 1');
  expect(rows).toEqual([{ processo: 't0' }, { processo: 't1' }]);
});

it('ends when SIGTERM comes while its start waits for the server', async () => {
  // Takes connections and answers none.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const asked = once(silent, 'connection');
  const adapter = forkChild('harness-adapter', {
    env: { DATABASE_URL: `postgres://a:b@127.0.0.1:${port}/none` },
  });
  await asked;
  // The start would wait for longer than a test may.
  expect(await adapter.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  silent.close();
});

function fail(message: string): never {
  throw new Error(message);
}
