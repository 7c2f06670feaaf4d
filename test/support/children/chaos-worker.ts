import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  PurgeRoutine,
  QueueEvents,
  QueueModule,
  QueueWorker,
  type QueueModuleOptions,
} from '../../../lib/index.js';
import { installClock } from '../../faults/chaos/clock.js';
import { installFailpoints, type ArmedPoint } from '../../faults/chaos/failpoints.js';
import { workOf } from '../../faults/chaos/ground/work.js';
import { HistoryWriter, now } from '../../faults/chaos/history.js';
import type { WorkerOrder, WorkerWord } from '../../faults/chaos/messages.js';
import { removeFence } from '../../faults/chaos/unfenced.js';
import { Handlers, WorkBench } from '../../faults/chaos/workload/handlers.js';

/**
 * A worker of the chaos run on the queue `tasks` in `DATABASE_URL`, with the options in `QUEUE_OPTIONS` (JSON). It
 * writes its history to `CHAOS_HISTORY` (a folder), has failpoints (`CHAOS_POINTS`, JSON, arms some before the
 * start) and a clock that can be moved, and does what it is told: see messages.ts. `CHAOS_UNFENCED` takes the fence
 * out of its completions.
 */
const setClock = installClock();
const { pid } = process;
const name = `worker-${pid}`;
const history = new HistoryWriter(process.env['CHAOS_HISTORY'] ?? '.', name);

const tell = (word: WorkerWord): Promise<void> =>
  new Promise((resolve) => (process.connected ? process.send?.(word, () => resolve()) : resolve()));

const connectionString = process.env['DATABASE_URL'] ?? '';
const failpoints = installFailpoints(
  connectionString.startsWith('mysql:') ? 'mysql' : 'postgres',
  ({ point, action }) => {
    history.write({ event: 'failpoint', point, pid, at: now().at });
    if (action !== 'kill') void tell({ type: 'reached', point });
  },
);
for (const point of JSON.parse(process.env['CHAOS_POINTS'] ?? '[]') as ArmedPoint[]) failpoints.arm(point);

if (process.env['CHAOS_UNFENCED'] !== undefined) removeFence();

const work = await workOf(connectionString);
const clients = work.openClients({ url: connectionString, max: 4, connectMs: 5_000 });
const bench = new WorkBench(name, history, work, clients, (message) => tell(message as WorkerWord));

@Module({ providers: [{ provide: WorkBench, useValue: bench }, Handlers] })
class HandlersModule {}

const options = JSON.parse(process.env['QUEUE_OPTIONS'] ?? '{}') as QueueModuleOptions;

@Module({
  imports: [
    HandlersModule,
    QueueModule.forRoot({
      connection: connectionString,
      queue: 'tasks',
      unknownTasks: 'fail',
      ...options,
    }),
  ],
})
class ChaosWorkerApp {}

const app = await NestFactory.createApplicationContext(ChaosWorkerApp, { logger: false });
app.enableShutdownHooks();
const worker = app.get(QueueWorker, { strict: false });
const stopListening = app.get(QueueEvents).on('task.lost', ({ task }) => {
  history.write({ event: 'told', id: task.id, pid, at: now().at });
});

let closing = false;
const orders: { [Type in WorkerOrder['type']]: (order: Extract<WorkerOrder, { type: Type }>) => void } = {
  arm: ({ point }) => failpoints.arm(point),
  disarm: () => failpoints.disarm(),
  skew: ({ ms }) => setClock(ms),
  block: ({ ms }) => {
    const end = now().at + ms;
    while (now().at < end);
    void tell({ type: 'blocked' });
  },
  purge: () => {
    app
      .get(PurgeRoutine, { strict: false })
      .run()
      .then((rows) => tell({ type: 'purged', rows: rows ?? 0 }))
      .catch(() => tell({ type: 'purged', rows: 0 }));
  },
  report: ({ n }) => {
    const resources: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
    const { started, holding } = bench;
    void tell({ type: 'report', n, running: worker.running, started, holding, resources });
  },
  close: () => {
    closing = true;
    stopListening();
    void app
      .close()
      .then(() => clients.end())
      .then(() => process.disconnect());
  },
};
process.on('message', (order: WorkerOrder) => orders[order.type](order as never));
// Whoever started this process is gone.
process.once('disconnect', () => {
  if (!closing) process.exit(1);
});
await tell({ type: 'ready', workerId: worker.id ?? '' });
