/**
 * An application that prints what became of its task: plain JavaScript, as bundlers see what a compiler has made of decorators.
 *
 * @param library what it imports
 */
export const applicationFrom = (library: string): string => `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QueueAdmin, QueueClient, QueueModule, TaskHandler } from '${library}';

class Handlers {
  run({ name }) {
    return { greeting: 'hello ' + name };
  }
}
TaskHandler('greet')(Handlers.prototype, 'run', Object.getOwnPropertyDescriptor(Handlers.prototype, 'run'));

const queue = { connection: process.env.DATABASE, queue: 'bundled', ...JSON.parse(process.env.OPTIONS) };
class AppModule {}
Module({ imports: [QueueModule.forRoot(queue)], providers: [Handlers] })(AppModule);

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await app.init();
  const id = await app.get(QueueClient).insertTask({ topic: 'greet', payload: { name: 'bundle' } });
  const { returned } = await app.get(QueueAdmin).waitFor(id);
  await app.close();
  return returned.greeting;
}
main().then(
  (answer) => process.stdout.write(answer),
  (error) => process.stdout.write(error.code + ' ' + error.message),
);
`;
