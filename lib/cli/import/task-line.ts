import { encodeTask, hintOf, taskFields, type TaskInput } from '../../client/task-input.js';
import { checkAmongMany } from '../../client/unique-task.js';
import { TarefaError } from '../../errors.js';
import type { NewTask } from '../../storage/inserts.js';
import { membersWithLargeNumbers } from '../../values/json-numbers.js';

/** How lines are read. */
export interface TaskLineRules {
  readonly publication: boolean;
  readonly maxPayloadBytes: number;
  /** For what a line leaves out. */
  readonly defaults: TaskInput;
}

/** Says what is wrong with a line; never what its payload is. */
export class LineProblem extends Error {
  override readonly name = 'LineProblem';
}

/**
 * Reads a task from a line of JSON, in the shape of `TaskInput`. A payload whose numbers JavaScript cannot hold is taken as
 * it is written.
 *
 * @throws {LineProblem}
 */
export function readTaskLine(
  text: string,
  { publication, maxPayloadBytes, defaults }: TaskLineRules,
): NewTask {
  const given = parseObject(text);
  refuseUnknown(Object.keys(given));
  const task: TaskInput = { ...(saysWhen(given) ? withoutTime(defaults) : defaults), ...given };
  const large = membersWithLargeNumbers(text);
  if (large?.has('metadata')) {
    throw new LineProblem(
      'metadata contains a number that is too long for JSON in JavaScript: write it as text',
    );
  }
  const payload = large?.get('payload') ?? task.payload;
  try {
    const encoded = encodeTask({ ...task, payload }, publication, maxPayloadBytes);
    checkAmongMany(encoded.unique);
    return encoded;
  } catch (error) {
    if (!(error instanceof TarefaError)) throw error;
    throw new LineProblem(error.message.replace(/; nothing was inserted$/, ''));
  }
}

/** A task has one of the two. */
function saysWhen({ runAt, delayMs }: TaskInput): boolean {
  return (runAt ?? delayMs ?? undefined) !== undefined;
}

function withoutTime({ runAt: _runAt, delayMs: _delayMs, ...others }: TaskInput): TaskInput {
  return others;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LineProblem(describeParseError(String(error)));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new LineProblem(`must be an object such as {"topic":"send-receipt"}, not ${kindOf(value)}`);
}

/** The message of the parser quotes the line. */
function describeParseError(message: string): string {
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  if (position !== undefined) return `is not valid JSON: error at character ${Number(position) + 1}`;
  return message.includes('end of JSON') ? 'is not valid JSON: it is incomplete' : 'is not valid JSON';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function refuseUnknown(fields: readonly string[]): void {
  for (const field of fields) {
    if (taskFields.has(field)) continue;
    const name = field.slice(0, 100);
    throw new LineProblem(`a task has no field ${JSON.stringify(name)}${hintOf(name, [...taskFields])}`);
  }
}
