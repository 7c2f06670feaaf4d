// pg-boss as an adapter of the public harness, with the worker settings of the harness's own adapter for it.
import { readFileSync } from 'node:fs';
import { PgBoss } from 'pg-boss';

/** @type {import('../../harness/adapter/harnessed-queue.js').OpenHarnessedQueue} */
export default async function open({ databaseUrl, producerRate, workerCount, queueCount }) {
  const names = Array.from({ length: queueCount }, (_, index) => `bench_${index}`);
  const boss = new PgBoss({ connectionString: databaseUrl });
  boss.on('error', (error) => process.stderr.write(`[pg-boss] ${error.message}\n`));
  boss.on('warning', () => undefined);
  await boss.start();
  for (const name of names) await boss.createQueue(name, { partition: true });
  const table = `pgboss.${(await boss.getQueue(names[0])).table}`;
  const batchSize = Math.max(1, Math.min(64, Math.ceil((producerRate * 1.25) / (workerCount * 2))));

  return {
    facts: {
      system: 'pg-boss',
      version: `pg-boss@${versionOf('pg-boss')}`,
      schemaVersion: String(await boss.schemaVersion()),
      // The harness's adapter names the small table of queues first, which active readers would scan instead.
      eventTables: [table, 'pgboss.queue'],
      extensions: [],
    },
    insert: (jobs, queue) =>
      boss.insert(
        names[queue],
        jobs.map((data) => ({ data })),
      ),
    work: async (run) => {
      for (const name of names) {
        const localConcurrency = Math.max(1, Math.floor(workerCount / names.length));
        const options = { pollingIntervalSeconds: 0.5, localConcurrency, batchSize };
        await boss.work(name, options, async (jobs) => {
          for (const { data } of jobs) await run(data);
        });
      }
    },
    depth: async () => {
      const { rows } = await boss
        .getDb()
        .executeSql(`select count(*) from pgboss.job where state < 'active'`);
      return Number(rows[0].count);
    },
    stop: (timeout) => boss.stop({ graceful: true, timeout }),
  };
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8'))
    .version;
}
