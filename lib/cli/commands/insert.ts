import type { Command, CommandCall, ExitCode } from '../command.js';
import { runInsert } from '../import/run-insert.js';
import { fileOptions } from '../import/insert-tasks.js';
import { taskOptions } from '../import/task-arguments.js';

/** `tarefa insert`. */
export const insertCommand: Command = {
  name: 'insert',
  summary: 'inserts a task, or many from a file or standard input',
  usage: '(--topic <topic> | --file <path|->)',
  description:
    'Prints the id of the task. With --file, each line is an object with the fields of a TaskInput: topic, payload, externalKey, ' +
    'priority, delayMs or runAt, maxAttempts, timeoutMs, tenant, group, origin, destination, unique, metadata; options apply to fields that a line leaves out. ' +
    'All lines are inserted in one transaction, all or none: if some have errors, the first twenty are reported and the ' +
    'exit code is 3.\n\n' +
    'With --batch-commit, what was committed stays when a later line has an error; the --skip to continue with is printed.',
  options: { ...taskOptions, ...fileOptions },
  examples: [
    `tarefa insert --topic send-receipt --payload '{"orderId":17}' --external-key order-17`,
    'tarefa insert --topic send-survey --payload @survey.json --delay 7d',
    'tarefa insert --file tasks.ndjson',
    'zcat tasks.ndjson.gz | tarefa insert --file - --priority 10',
  ],
  run: (call: CommandCall): Promise<ExitCode> => runInsert(call, false),
};
