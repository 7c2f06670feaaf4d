// A small Nest application with a queue in it, and nothing to do. Arguments: product, setting, `producer` or `worker`,
// address of a database in which the product's tables are, port of Redis, address of this library. It tells when it is up,
// answers what it weighs when it is asked, and ends with the process that started it.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const [product, setting, role, connectionString, redisPort, library] = process.argv.slice(2);
const works = role === 'worker';

const provide = (useFactory) => ({
  module: function PeerModule() {},
  providers: [{ provide: 'peer', useFactory }],
});

/** The worker of an adapter, at the settings that are measured elsewhere. */
const provideAdapter = async (file) => {
  const { default: open } = await import(file);
  if (!works) throw new Error(`${product} is measured as a worker only`);
  const adapter = open({ database: connectionString, redisPort: Number(redisPort), setting, topics: 1 });
  return provide(() => adapter.work('empty', () => undefined).then(() => adapter));
};

/** Each loads its product and answers what an application imports to have it. */
const products = {
  tarefa: async () => {
    const { QueueModule, TaskHandler } = await import(library);
    class Handlers {
      handle() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
    TaskHandler('empty')(Handlers.prototype, 'handle', descriptor);
    const options = { connection: connectionString, queue: 'bench', table: 'bench.task', worker: works };
    return {
      module: function TarefaModule() {},
      providers: works ? [Handlers] : [],
      imports: [QueueModule.forRoot(options)],
    };
  },

  'graphile-worker': async () => {
    const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
    const logger = new Logger(() => () => undefined);
    const preset = { worker: { connectionString, logger } };
    return provide(() =>
      works
        ? run({ preset, logger, taskList: { bench0: () => undefined }, noHandleSignals: true })
        : makeWorkerUtils({ connectionString, logger }),
    );
  },

  'pg-boss': async () => {
    const { PgBoss } = await import('pg-boss');
    const useListenNotify = setting === 'notify';
    return provide(async () => {
      const boss = new PgBoss({ connectionString, supervise: works, schedule: works, useListenNotify });
      boss.on('error', () => undefined);
      await boss.start();
      if (works) await boss.work('bench0', async () => undefined);
      return boss;
    });
  },

  'bullmq on redis': () => provideAdapter('./bullmq-redis.mjs'),
  'bullmq on postgres': () => provideAdapter('./bullmq-postgres.mjs'),
};

const load = products[product];
if (!load) throw new Error(`nothing is known of ${product}`);
const cpu = process.cpuUsage();
const began = performance.now();
const queue = await load();
const importMs = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);

function ApplicationModule() {}
Module({ imports: [queue] })(ApplicationModule);
await NestFactory.createApplicationContext(ApplicationModule, { logger: false, abortOnError: false });
process.send({ importMs, importCpuMs: (user + system) / 1_000 });

process.on('message', ({ collect }) => {
  if (collect) globalThis.gc();
  const used = process.cpuUsage();
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  process.send({ rssMb, cpuMs: (used.user + used.system) / 1_000 });
});
process.on('disconnect', () => process.exit());
