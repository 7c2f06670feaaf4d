// What a small Nest application weighs with a queue in it. Arguments: product, `producer` or `worker`, address of a
// database in which the product's tables are, address of this library. Prints one line of JSON.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const [product, role, connectionString, library] = process.argv.slice(2);
/** What happens once after a start is over by then. */
const settleMs = 5_000;

const provide = (useFactory) => ({
  module: function PeerModule() {},
  providers: [{ provide: 'peer', useFactory }],
});

/** Each loads its product and answers what an application imports to have it. */
const products = {
  none: async () => ({ module: function NoModule() {} }),

  tarefa: async () => {
    const { QueueModule, TaskHandler } = await import(library);
    class Handlers {
      handle() {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
    TaskHandler('empty')(Handlers.prototype, 'handle', descriptor);
    const worker = role === 'worker';
    const options = { connection: connectionString, queue: 'bench', table: 'bench.task', worker };
    return {
      module: function TarefaModule() {},
      providers: worker ? [Handlers] : [],
      imports: [QueueModule.forRoot(options)],
    };
  },

  'graphile-worker': async () => {
    const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
    const logger = new Logger(() => () => undefined);
    const preset = { worker: { connectionString, logger } };
    return provide(() =>
      role === 'worker'
        ? run({ preset, logger, taskList: { bench: () => undefined }, noHandleSignals: true })
        : makeWorkerUtils({ connectionString, logger }),
    );
  },

  'pg-boss': async () => {
    const { PgBoss } = await import('pg-boss');
    return provide(async () => {
      const works = role === 'worker';
      const boss = new PgBoss({ connectionString, supervise: works, schedule: works });
      boss.on('error', () => undefined);
      await boss.start();
      if (works) await boss.work('bench', async () => undefined);
      return boss;
    });
  },
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
await NestFactory.createApplicationContext(ApplicationModule, { logger: false });
await pause(settleMs);
globalThis.gc?.();
const rssMb = process.memoryUsage.rss() / 2 ** 20;
process.stdout.write(`${JSON.stringify({ importMs, importCpuMs: (user + system) / 1_000, rssMb })}\n`);
process.exit(0);
