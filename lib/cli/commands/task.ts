import type { QueueAdmin } from '../../admin/queue-admin.js';
import type { TaskHistory } from '../../admin/task-answers.js';
import type { OperatorQueue } from '../../assembly/operators.js';
import { readId } from '../../values/attempt-id.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption } from '../option-values.js';
import { hasCode } from '../../errors.js';
import { showTask, type WholeTask } from '../show/show-task.js';
import { taskView } from '../show/task-view.js';

/** Most deliveries that are shown, and most dead tasks. */
const mostDeliveries = 1_000;
const mostDead = 20;

/** `tarefa task`. */
export const taskCommand: Command = {
  name: 'task',
  summary: 'shows a task: all its attempts and replays, its dead tasks, publication and deliveries',
  usage: '<id>',
  description: `The id is that of any of its attempts. The payload is hidden: --payload shows it. At most ${mostDeliveries} deliveries and
    the last ${mostDead} dead tasks are shown.`,
  options: { payload: { type: 'boolean', description: 'shows the payload' } },
  examples: ['tarefa task 17', 'tarefa task 17 --payload --json'],
  run: async (call): Promise<ExitCode> => {
    const [id, ...others] = call.positionals;
    if (id === undefined) throw new UsageError('which task? Give the id of any of its attempts');
    if (others.length > 0) throw new UsageError('one task at a time');
    const whole = await read(await call.queue(), readId(id), flagOption(call.options, 'payload'));
    show(call, whole);
    return 0;
  },
};

async function read({ admin }: OperatorQueue, id: string, withPayload: boolean): Promise<WholeTask> {
  const history = await admin.find(id, { payload: false });
  const { current, deadIds } = history;
  const deadTasks: TaskHistory[] = [];
  for (const deadId of deadIds.slice(-mostDead)) {
    const dead = await findOrNothing(admin, deadId);
    if (dead) deadTasks.push(dead);
  }
  const publication =
    current.publicationId === null ? undefined : (await findOrNothing(admin, current.publicationId))?.current;
  const page = current.publication
    ? await admin.list(
        { publicationId: current.firstAttemptId, latest: true },
        { limit: mostDeliveries, payload: false },
      )
    : undefined;
  const payload = withPayload ? (await admin.find(id)).current.payload : undefined;
  return {
    ...history,
    deadTasks,
    publication,
    deliveries: page?.tasks.toReversed() ?? [],
    hasMoreDeliveries: page?.next !== undefined,
    payload,
  };
}

/** It may be purged between two looks. */
async function findOrNothing(admin: QueueAdmin, id: string): Promise<TaskHistory | undefined> {
  try {
    return await admin.find(id, { payload: false });
  } catch (error) {
    if (hasCode(error, 'TASK_NOT_FOUND')) return undefined;
    throw error;
  }
}

function show({ output }: CommandCall, whole: WholeTask): void {
  const { current, attempts, deadTasks, publication, deliveries, hasMoreDeliveries, payload } = whole;
  output.json({
    current: taskView(current),
    attempts: attempts.map(taskView),
    deadTasks: deadTasks.map((dead) => ({
      current: taskView(dead.current),
      attempts: dead.attempts.map(taskView),
    })),
    publication: publication === undefined ? null : taskView(publication),
    deliveries: deliveries.map(taskView),
    hasMoreDeliveries,
    ...(payload === undefined ? {} : { payload }),
  });
  showTask(output, whole);
}
