// @boringnode/queue on MariaDB: https://github.com/boringnode/queue. It is the queue of AdonisJS.
import { Job, Locator, QueueManager, QueueSchemaService, Worker } from '@boringnode/queue';
import { knex } from '@boringnode/queue/drivers/knex_adapter';
import Knex from 'knex';

/** @type {Record<string, { connections: number, worker: object, job: object }>} */
const settings = {
  // One at a time; an idle worker looks again after 2 s.
  default: { connections: 10, worker: {}, job: {} },
  // Each claim is a transaction of one job. 25 and 100 at once, and 10 or 40 connections, are no faster; finished jobs are
  // removed, which is its default.
  tuned: { connections: 20, worker: { concurrency: 50, idleDelay: '10ms' }, job: {} },
};

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database, setting }) {
  const { connections, worker, job } =
    settings[setting] ?? fail(`@boringnode/queue has no setting ${setting}`);
  const connect = (max) => Knex({ client: 'mysql2', connection: database, pool: { min: 0, max } });
  const configOf = (connection) => ({ default: 'knex', adapters: { knex: knex(connection) } });
  let prober;
  let handle;

  class BenchJob extends Job {
    static options = { name: 'bench', ...job };

    async execute() {
      handle(this.payload);
    }
  }
  Locator.register('bench', BenchJob);

  return {
    setup: async () => {
      const connection = connect(1);
      const schema = new QueueSchemaService(connection);
      await schema.createJobsTable();
      await schema.createSchedulesTable();
      await connection.destroy();
    },
    producer: async (most) => {
      const connection = connect(most);
      await QueueManager.init(configOf(connection));
      return {
        one: (payload) => BenchJob.dispatch(payload).run(),
        many: (payloads) => BenchJob.dispatchMany(payloads).run(),
        close: async () => {
          await QueueManager.destroy();
          await connection.destroy();
        },
      };
    },
    work: async (kind, started) => {
      if (kind !== 'empty') fail(`@boringnode/queue is not measured with ${kind}`);
      handle = started;
      const working = new Worker({ ...configOf(connect(connections)), worker });
      await working.init();
      // Ends with the process.
      void working.start();
    },
    isDone: async () => {
      prober ??= connect(1);
      const row = await prober('queue_jobs').whereIn('status', ['pending', 'active', 'delayed']).first('id');
      return row === undefined;
    },
  };
}

function fail(message) {
  throw new Error(message);
}
