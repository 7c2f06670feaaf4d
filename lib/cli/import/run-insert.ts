import type { OperatorQueue } from '../../assembly/operators.js';
import { UsageError, type CommandCall, type ExitCode } from '../command.js';
import { fileOptions, insertFile } from './insert-tasks.js';
import { textOption } from '../option-values.js';
import { failureMessage } from '../../values/failure-text.js';
import { readPayload, readTaskOptions } from './task-arguments.js';

/** What `tarefa insert` and `tarefa publish` do: one task from the options, or those of a file. */
export async function runInsert(call: CommandCall, publication: boolean): Promise<ExitCode> {
  const { options, positionals, output } = call;
  if (positionals[0] !== undefined) {
    throw new UsageError(
      `unexpected argument ${JSON.stringify(positionals[0])}: put --topic or --file before it`,
    );
  }
  if (textOption(options, 'file') !== undefined) return insertFile(call, publication);
  const [alone] = Object.keys(fileOptions).filter((name) => options[name] !== undefined);
  if (alone !== undefined) throw new UsageError(`--${alone} requires --file`);
  const topic = textOption(options, 'topic');
  if (topic === undefined) throw new UsageError('give --topic for one, or --file for many');

  const task = { ...readTaskOptions(options), topic };
  const queue = await call.queue();
  const payload = await readPayload(call, queue.options.maxPayloadBytes);
  if (payload !== undefined) tellOfBadJson(payload, call);
  const input = payload === undefined ? task : { ...task, payload };
  const { client } = queue;
  const id = publication ? await client.insertTaskPubSub(input) : await client.insertTask(input);
  output.json({ id });
  output.line(id);
  if (publication) await tellWhenUnheard(queue, topic, call);
  return 0;
}

/** What begins as JSON was meant to be some, most likely. */
function tellOfBadJson(payload: string, { output }: CommandCall): void {
  if (!/^\s*[[{]/.test(payload)) return;
  try {
    JSON.parse(payload);
  } catch (error) {
    output.note(`the payload is not JSON, so it is inserted as text (${(error as Error).message})`);
  }
}

async function tellWhenUnheard(
  { admin }: OperatorQueue,
  topic: string,
  { output }: CommandCall,
): Promise<void> {
  try {
    const subscriptions = await admin.subscriptions.list({ topic });
    if (subscriptions.some(({ active }) => active)) return;
  } catch (error) {
    // A producer's role may not read them. The publication is there: whoever repeats the command publishes twice.
    return output.note(`published, but its subscriptions could not be read: ${failureMessage(error)}`);
  }
  output.note(`no active subscription has the topic ${JSON.stringify(topic)}: nobody will receive it`);
}
