import type { Command, CommandCall, ExitCode } from '../command.js';
import { runInsert } from '../import/run-insert.js';
import { fileOptions } from '../import/insert-tasks.js';
import { taskOptions } from '../import/task-arguments.js';

/** `tarefa publish`. */
export const publishCommand: Command = {
  name: 'publish',
  summary: 'publishes to the subscriptions of a topic, once or many times',
  usage: '(--topic <topic> | --file <path|->)',
  description:
    'Prints the id of the publication; a worker creates one delivery of it for every active subscription of its topic. With ' +
    '--file, publishes many, as `tarefa insert` inserts many tasks.',
  options: { ...taskOptions, ...fileOptions },
  examples: [
    `tarefa publish --topic order-placed --payload '{"id":17}'`,
    'tarefa publish --topic order-placed --payload @order.json --external-key order-17',
    'tarefa publish --topic order-placed --file orders.ndjson --dry-run',
  ],
  run: (call: CommandCall): Promise<ExitCode> => runInsert(call, true),
};
