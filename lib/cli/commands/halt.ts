import type { OperatorQueue } from '../../assembly/operators.js';
import type { WorkerStatus } from '../../storage/status-report.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, numberOption } from '../option-values.js';
import { waitOrStop } from '../wait-or-stop.js';

const lookEveryMs = 500;

/** `tarefa halt`. */
export const haltCommand: Command = {
  name: 'halt',
  summary: 'tells the workers to stop after their current work',
  usage: '',
  description: `Notes in the rows of all workers that run that they are to stop, and sends the notification that workers of
    nsj-queue-lib know as well. A worker claims no more then, lets what runs finish, and stops; its process goes on, or is
    started again, as whoever runs it decides. One behind a transaction pooler, or one that polls instead of listening, sees it
    at its next poll. The role needs the right to update the table of workers.

    With --wait: until every worker that was alive has stopped. Exit code 3 when one still works after --timeout, or Ctrl-C
    came first.`,
  options: {
    wait: { type: 'boolean', description: 'waits until they have stopped' },
    timeout: {
      type: 'string',
      value: '<seconds>',
      description: 'how long to wait. Default: as long as it takes',
    },
  },
  examples: ['tarefa halt --wait --timeout 60'],
  run: async (call): Promise<ExitCode> => {
    const { output, options } = call;
    if (call.positionals.length > 0)
      throw new UsageError('halt takes no arguments: it is for the whole queue');
    const timeout = numberOption(options, 'timeout', { least: 0, most: 86_400, whole: false });
    const queue = await call.queue();
    const before = await alive(queue);
    await queue.admin.halt();
    const listening = before.filter(({ alive: by }) => by === 'lock').length;
    const polling = before.length - listening;
    output.line(describe(listening, polling));
    const left = flagOption(options, 'wait') ? await waitForEnd(call, queue, before, timeout) : undefined;
    output.json({
      listening,
      polling,
      workers: before,
      ...(left === undefined ? {} : { stillRunning: left }),
    });
    if (left !== undefined && left.length > 0) {
      const names = left.map(({ id, host, pid }) => `${id} (${host}, pid ${pid})`).join(', ');
      output.error(`still at work: ${left.length === 1 ? 'worker' : 'workers'} ${names}`);
      return 3;
    }
    if (left !== undefined) output.line('no worker runs any more');
    return 0;
  },
};

async function alive({ database }: OperatorQueue): Promise<readonly WorkerStatus[]> {
  return (await database.reports.workers()).filter((worker) => worker.alive !== false);
}

/** Those of the workers that were told which still live in the end. One that is started meanwhile was not told. */
async function waitForEnd(
  { output, signal }: CommandCall,
  queue: OperatorQueue,
  told: readonly WorkerStatus[],
  timeoutSeconds: number | undefined,
): Promise<readonly WorkerStatus[]> {
  const deadline = timeoutSeconds === undefined ? Infinity : performance.now() + timeoutSeconds * 1_000;
  const progress = output.progress('stopped', told.length);
  let left = told;
  try {
    for (;;) {
      const living = new Set((await alive(queue)).map(({ id }) => id));
      const still = left.filter(({ id }) => living.has(id));
      progress.advance(left.length - still.length);
      left = still;
      if (left.length === 0 || performance.now() >= deadline) return left;
      if (!(await waitOrStop(Math.min(lookEveryMs, deadline - performance.now()), signal))) return left;
    }
  } finally {
    progress.end();
  }
}

function describe(listening: number, polling: number): string {
  const all = listening + polling;
  if (all === 0) return 'no worker runs';
  const told = `${all} ${all === 1 ? 'worker is' : 'workers are'} told to stop`;
  if (polling === 0) return told;
  return `${told}; ${polling} behind a pooler ${polling === 1 ? 'sees' : 'see'} it at the next poll`;
}
