// Sidequest on MariaDB: https://docs.sidequestjs.com
import Knex from 'knex';
import { Sidequest } from 'sidequest';
import { BenchJob } from './sidequest-job.mjs';

/** @type {Record<string, { connections: number, concurrency: number, engine: object }>} */
const settings = {
  // Ten at once; it looks for jobs every 100 ms.
  default: { connections: 10, concurrency: 10, engine: {} },
  // 100 at once, in the process itself as everywhere here.
  tuned: {
    connections: 20,
    concurrency: 100,
    engine: { maxConcurrentJobs: 100, jobPollingInterval: 5 },
  },
};

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database, setting }) {
  const { connections, concurrency, engine } =
    settings[setting] ?? fail(`Sidequest has no setting ${setting}`);
  const knexOf = (max) => ({ client: 'mysql2', connection: database, pool: { min: 0, max } });
  const configOf = (max) => ({
    backend: { driver: '@sidequest/mysql-backend', config: { connection: database, pool: { min: 0, max } } },
    logger: { level: 'error' },
  });
  let prober;

  return {
    setup: async () => {
      await Sidequest.configure(configOf(1));
      await Sidequest.getBackend().createNewQueue({
        name: 'default',
        concurrency,
        state: 'active',
        priority: 0,
      });
    },
    producer: async (most) => {
      await Sidequest.configure({ ...configOf(most), skipMigration: true });
      const enqueue = (payload) => Sidequest.build(BenchJob).enqueue(payload);
      const knex = Knex(knexOf(most));
      return {
        one: enqueue,
        // It has no way to enqueue many, so one is enqueued and the others are copies of its row.
        many: async ([first, ...others]) => {
          const { id: model } = await enqueue(first);
          const row = await knex('sidequest_jobs').where({ id: model }).first();
          const copies = others.map((payload) => ({
            ...row,
            id: undefined,
            args: JSON.stringify([payload]),
            constructor_args: JSON.stringify(row.constructor_args),
          }));
          if (copies.length > 0) await knex('sidequest_jobs').insert(copies);
        },
        close: () => knex.destroy(),
      };
    },
    work: async (kind, started) => {
      if (kind !== 'empty') fail(`Sidequest is not measured with ${kind}`);
      BenchJob.started = started;
      await Sidequest.start({
        ...{ ...configOf(connections), ...engine, skipMigration: true, fork: false, runner: 'inline' },
        dashboard: { enabled: false },
      });
    },
    isDone: async () => {
      prober ??= Knex(knexOf(1));
      const row = await prober('sidequest_jobs')
        .whereIn('state', ['waiting', 'claimed', 'running'])
        .first('id');
      return row === undefined;
    },
  };
}

function fail(message) {
  throw new Error(message);
}
