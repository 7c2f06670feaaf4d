// Runs one task from insertTask() to its completion and lists the files and functions of the library that it enters, in the order of
// their files: how much of the engine a reader must follow.
//   npm run trace                      on an embedded PostgreSQL
//   DATABASE_URL=… npm run trace       on a server
// What a quiet worker does beside the task in those milliseconds counts as well.
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { dirname, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const library = process.env.TAREFA_LIBRARY ?? pathToFileURL('dist/lib/index.js').href;
const { QueueModule, QueueClient, QueueEvents, TaskHandler } = await import(library);
const root = dirname(fileURLToPath(library));

class Handlers {
  greet({ name }) {
    return `hello, ${name}`;
  }
}
Injectable()(Handlers);
TaskHandler('greet')(
  Handlers.prototype,
  'greet',
  Object.getOwnPropertyDescriptor(Handlers.prototype, 'greet'),
);

const queue = QueueModule.forRoot({
  connection: process.env.DATABASE_URL ?? 'embedded',
  queue: 'trace',
  scheduledTimer: false,
  // Its clock ticks whatever the worker does.
  maxLoopDelayMs: 0,
});
const app = await NestFactory.createApplicationContext(
  { module: Handlers, imports: [queue], providers: [Handlers] },
  { logger: ['warn', 'error'], abortOnError: false },
);
await app.init();
const client = app.get(QueueClient);
const events = app.get(QueueEvents);
// Subscribed once: the listener is the trace's own.
let tellCompleted;
events.on('task.completed', () => tellCompleted());
const runOne = async () => {
  const completed = new Promise((resolve) => (tellCompleted = resolve));
  await client.insertTask({ topic: 'greet', payload: { name: 'Ana' } });
  await completed;
};
// Connections are open and statements prepared after the first.
await runOne();

const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await runOne();
const { result } = await inspector.post('Profiler.takePreciseCoverage');
await inspector.post('Profiler.stopPreciseCoverage');
inspector.disconnect();
await app.close();

const files = result
  .filter(({ url }) => url.startsWith(`${pathToFileURL(root).href}/`))
  .map(({ url, functions }) => ({
    file: relative(root, fileURLToPath(url)).replace(/\.js$/, '.ts'),
    names: functions
      .filter(({ ranges: [{ count }] }) => count > 0)
      .map(({ functionName }) => functionName || '(anonymous)'),
  }))
  .filter(({ names }) => names.length > 0)
  .sort((one, other) => one.file.localeCompare(other.file));
for (const { file, names } of files) process.stdout.write(`${file}: ${names.join(', ')}\n`);
const named = files.flatMap(({ names }) => names).filter((name) => name !== '(anonymous)').length;
process.stdout.write(`${files.length} files, ${named} named functions\n`);
