import 'reflect-metadata';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QueueModule } from '../../lib/index.js';
import { monotonicMs } from '../protocol.js';
import { percentile } from '../statistics.js';
import { table } from './queue.js';

@Module({})
class ViewsModule {}

const times = 15;

/** What the page asks for in each view, by the name of its figure. Ids are those of `historyStatements`. */
const views: Readonly<Record<string, string>> = {
  overviewMs: 'overview',
  dayMs: 'history?range=day',
  newestMs: 'tasks?latest=true',
  failedMs: 'tasks?latest=true&status=failed',
  pendingMs: 'tasks?status=pending,scheduled,processing',
  topicMs: 'tasks?topic=t1',
  messageMs: 'tasks?message=needle',
  taskMs: 'tasks/40000',
  subscriptionsMs: 'subscriptions',
};

/** Asks a dashboard for each of its views, and how long a search through everything takes. */
export async function measureViews(url: string): Promise<Readonly<Record<string, number>>> {
  Logger.overrideLogger(['error']);
  process.env['NODE_ENV'] = 'development';
  const queue = QueueModule.forRoot({ connection: url, queue: 'bench', table, worker: false, dashboard: {} });
  const app = await NestFactory.create({ module: ViewsModule, imports: [queue] }, { abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const api = `${await app.getUrl()}/queues/api`;
  const ask = async (path: string): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await fetch(`${api}/${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Readonly<Record<string, unknown>>;
  };
  const found: Record<string, number> = {};
  for (const [name, path] of Object.entries(views)) {
    const took: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const begun = monotonicMs();
      await ask(path);
      took.push(monotonicMs() - begun);
    }
    found[name] = percentile(took, 0.5) ?? 0;
    found['slowestMs'] = Math.max(found['slowestMs'] ?? 0, ...took);
  }
  const begun = monotonicMs();
  for (let after: string | undefined = ''; after !== undefined;) {
    const { next } = await ask(`tasks?message=needle${after}`);
    after = typeof next === 'string' ? `&after=${next}` : undefined;
  }
  found['seconds'] = (monotonicMs() - begun) / 1_000;
  await app.close();
  return found;
}
