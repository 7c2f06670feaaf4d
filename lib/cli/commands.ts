import type { Command } from './command.js';
import { buryCommand, cancelCommand } from './commands/cancel.js';
import { checkCommand } from './commands/check.js';
import { completionCommand } from './commands/completion.js';
import { dashboardCommand } from './commands/dashboard.js';
import { deleteCommand } from './commands/delete.js';
import { haltCommand } from './commands/halt.js';
import { pauseCommand, resumeCommand } from './commands/pause.js';
import { purgeCommand } from './commands/purge.js';
import { retryCommand } from './commands/retry.js';
import { runNowCommand } from './commands/run-now.js';
import { schedulesCommand } from './commands/schedules.js';
import { serverCommand } from './commands/server.js';
import { statusCommand } from './commands/status.js';
import { subscriptionsCommand } from './commands/subscriptions.js';
import { taskCommand } from './commands/task.js';
import { tasksCommand } from './commands/tasks.js';
import { insertCommand } from './commands/insert.js';
import { publishCommand } from './commands/publish.js';
import { workerCommand } from './commands/worker.js';
import { adoptCommand } from './schema/adopt.js';
import { dbGenCommand } from './schema/db-gen.js';
import { migrateCommand } from './schema/migrate.js';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  dbGenCommand,
  migrateCommand,
  adoptCommand,
  statusCommand,
  checkCommand,
  tasksCommand,
  taskCommand,
  retryCommand,
  runNowCommand,
  cancelCommand,
  buryCommand,
  deleteCommand,
  pauseCommand,
  resumeCommand,
  purgeCommand,
  subscriptionsCommand,
  schedulesCommand,
  haltCommand,
  insertCommand,
  publishCommand,
  workerCommand,
  serverCommand,
  dashboardCommand,
  completionCommand(() => commands),
];
