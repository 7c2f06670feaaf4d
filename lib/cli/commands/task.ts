import type { QueueAdmin } from '../../admin/queue-admin.js';
import type { TaskHistory } from '../../admin/task-answers.js';
import type { OperatorQueue } from '../../assembly/operators.js';
import { publicationOf } from '../../redaction/published-text.js';
import type { Redaction } from '../../redaction/redaction.js';
import type { TaskRecord } from '../../task.js';
import { readId } from '../../values/attempt-id.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption } from '../option-values.js';
import { hasCode } from '../../errors.js';
import { showTask, type WholeTask } from '../show/show-task.js';
import { readRedaction, redactOption } from '../show/redact-option.js';
import { taskView, withoutSecrets } from '../show/task-view.js';

/** Most deliveries that are shown, and most dead tasks. */
const mostDeliveries = 1_000;
const mostDead = 20;

/** `tarefa task`. */
export const taskCommand: Command = {
  name: 'task',
  summary: 'shows a task: all its attempts and replays, dead tasks, publication and deliveries',
  usage: '<id>',
  description: `The id may be that of any of its attempts. The payload is hidden unless --payload is given. At most ${mostDeliveries} deliveries
    and the last ${mostDead} dead tasks are shown. Values that are secret by their names are hidden everywhere, as on the
    dashboard; the payload of a delivery is what was published.`,
  options: { payload: { type: 'boolean', description: 'shows the payload' }, ...redactOption },
  examples: ['tarefa task 17', 'tarefa task 17 --payload --json'],
  run: async (call): Promise<ExitCode> => {
    const [id, ...others] = call.positionals;
    if (id === undefined) throw new UsageError('no task given: pass the id of any of its attempts');
    if (others.length > 0) throw new UsageError('task takes one id only');
    const redaction = readRedaction(call.options);
    const whole = await read(await call.queue(), readId(id), flagOption(call.options, 'payload'));
    show(call, shownWhole(whole, redaction));
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
  const stored = withPayload ? (await admin.find(id)).current.payload : undefined;
  const isDelivery = current.subscriptionId !== null;
  const payload = typeof stored === 'string' && isDelivery ? publicationOf(stored) : stored;
  return {
    ...history,
    deadTasks,
    publication,
    deliveries: page?.tasks.toReversed() ?? [],
    hasMoreDeliveries: page?.next !== undefined,
    payload,
  };
}

/** All of it without secrets. */
function shownWhole(whole: WholeTask, redaction: Redaction): WholeTask {
  const shown = (task: TaskRecord): TaskRecord => withoutSecrets(task, redaction);
  const history = ({ current, attempts, deadIds }: TaskHistory): TaskHistory => ({
    current: shown(current),
    attempts: attempts.map(shown),
    deadIds,
  });
  const { deadTasks, publication, deliveries, payload } = whole;
  return {
    ...whole,
    ...history(whole),
    deadTasks: deadTasks.map(history),
    publication: publication && shown(publication),
    deliveries: deliveries.map(shown),
    payload: typeof payload === 'string' ? redaction.text(payload).text : payload,
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
