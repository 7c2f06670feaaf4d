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
  description: `Marks the rows of all running workers, and sends the notification that workers of nsj-queue-lib also understand. A
    worker then claims no more tasks, finishes its running ones and stops; whether its process keeps running or is restarted
    is up to whoever runs it. A worker behind a transaction pooler, or one that polls instead of listening, notices at its next
    poll. The role must be allowed to update the table of workers.

    With --wait: waits until every worker that was alive has stopped. Exit code 3 when a worker is still running after
    --timeout, or when Ctrl-C interrupted the wait.`,
  options: {
    wait: { type: 'boolean', description: 'waits until they have stopped' },
    timeout: {
      type: 'string',
      value: '<seconds>',
      description: 'how long to wait. Default: no limit',
    },
  },
  examples: ['tarefa halt --wait --timeout 60'],
  run: async (call): Promise<ExitCode> => {
    const { output, options } = call;
    if (call.positionals.length > 0)
      throw new UsageError('halt takes no arguments: it applies to the whole queue');
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
      output.error(`still running: ${left.length === 1 ? 'worker' : 'workers'} ${names}`);
      return 3;
    }
    if (left !== undefined) output.line('all workers have stopped');
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
  if (all === 0) return 'no worker is running';
  const told = `${all} ${all === 1 ? 'worker was' : 'workers were'} told to stop`;
  if (polling === 0) return told;
  return `${told}; ${polling} behind a pooler will notice at the next poll`;
}
