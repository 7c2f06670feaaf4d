import 'reflect-metadata';
import type { RecurrenceInput, RecurringTask } from '../client/schedule-input.js';
import { TarefaError } from '../errors.js';
import { defaultQueueName } from '../options/part-token.js';
import { noteDecorated, type Decoration } from './decorated-classes.js';
import { decoratedMethod } from './decorated-method.js';

/** When the task of a handler recurs, and what it is given. */
export interface RecurringOptions extends RecurrenceInput {
  /** What the task has besides its topic: a payload, a priority. */
  readonly task?: Omit<RecurringTask, 'topic'> | undefined;
  /** Name of the queue, when there are several. */
  readonly queue?: string | undefined;
}

/** What {@link Recurring} leaves on a method; one method may carry several. */
export interface RecurringMetadata {
  readonly id: string;
  readonly options: RecurringOptions;
}

const metadataKey = Symbol.for('nestjs-tarefa:recurring');

/**
 * Inserts a task for the method's `@TaskHandler` each time that a schedule says, once, however many workers run. The schedule is a
 * row of the queue, by that id: the latest start of the application writes it, and it goes on while a worker runs that declares it.
 *
 * @param id of the schedule, at most 100 characters
 * @throws {TarefaError} `HANDLER_INVALID` without both, and on what is no method of a provider
 * @example
 * @TaskHandler('close-day')
 * @Recurring('nightly', { cron: '0 3 * * *', timezone: 'Europe/Lisbon' })
 * async closeDay(payload: null, ctx: TaskContext) {}
 */
export function Recurring(
  id: string,
  options: RecurringOptions,
): (target: object, name: string | symbol, descriptor: PropertyDescriptor) => void {
  return (target, name, descriptor) => {
    const { method, implementation } = decoratedMethod('@Recurring', target, name, descriptor);
    const given: unknown = options;
    if (typeof id !== 'string' || typeof given !== 'object' || given === null) {
      throw new TarefaError(
        'HANDLER_INVALID',
        `@Recurring on ${target.constructor.name}.${method} needs an id and a time, as in @Recurring('nightly', { cron: '0 3 * * *' })`,
      );
    }
    const metadata: RecurringMetadata = { id, options };
    Reflect.defineMetadata(metadataKey, [...readRecurring(implementation), metadata], implementation);
    noteDecorated(target, { ...describeRecurring(metadata), method });
  };
}

/** What the decorators left on a method. */
export function readRecurring(method: object): readonly RecurringMetadata[] {
  return (Reflect.getMetadata(metadataKey, method) as RecurringMetadata[] | undefined) ?? [];
}

/** What stands on the method, as users write it, and the queue that it is for. */
export function describeRecurring({
  id,
  options,
}: RecurringMetadata): Pick<Decoration, 'decorator' | 'queue'> {
  return { decorator: `@Recurring('${id}')`, queue: options.queue ?? defaultQueueName };
}
