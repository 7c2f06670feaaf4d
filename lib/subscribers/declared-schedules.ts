import { readRecurringTask, readRule, readScheduleFields, readScheduleId } from '../client/schedule-input.js';
import type { TopicSchemas } from '../client/topic-schemas.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { ScheduleDefinition } from '../storage/schedules.js';
import { firstTime } from '../timing/recurrence.js';
import type { FoundHandler, FoundRecurring } from './subscriber.explorer.js';

/** The schedules that methods of this application declare, and their rows. */
export class DeclaredSchedules {
  readonly #database: Pick<QueueDatabase, 'schedules'>;
  readonly #events: QueueEvents;
  readonly #rules: { readonly maxPayloadBytes: number; readonly schemas: Pick<TopicSchemas, 'check'> };
  /** Tells workers that schedules have changed. */
  readonly #ring: () => Promise<void>;
  #all: readonly ScheduleDefinition[] = [];

  constructor(
    database: Pick<QueueDatabase, 'schedules'>,
    events: QueueEvents,
    rules: { readonly maxPayloadBytes: number; readonly schemas: Pick<TopicSchemas, 'check'> },
    ring: () => Promise<void>,
  ) {
    this.#database = database;
    this.#events = events;
    this.#rules = rules;
    this.#ring = ring;
  }

  get ids(): readonly string[] {
    return this.#all.map(({ id }) => id);
  }

  /**
   * Writes the rows of schedules that are missing or were declared in another way.
   *
   * @param found schedules of this queue
   * @param handlers of this queue
   * @throws {TarefaError} `HANDLER_INVALID` for an id declared twice or added by hand, and for a method without a `@TaskHandler`;
   * `INPUT_INVALID` for a rule or a task that cannot be; `RIGHTS_MISSING`
   */
  async prepare(found: readonly FoundRecurring[], handlers: readonly FoundHandler[]): Promise<void> {
    const names = new Map<string, string>();
    const all: ScheduleDefinition[] = [];
    for (const one of found) {
      const definition = await this.#define(one, handlers);
      const before = names.get(definition.id);
      if (before !== undefined) {
        throw invalid(one, `has the same id as the one on ${before}: give it another id`);
      }
      names.set(definition.id, one.name);
      all.push(definition);
    }
    this.#all = all;
    const foreign = await this.#declare();
    const [first] = found.filter(({ metadata: { id } }) => foreign.includes(id));
    if (first) {
      throw invalid(
        first,
        `has the id of a schedule that was added by hand: give it another id, or remove that schedule with ` +
          `\`npx tarefa schedules remove ${first.metadata.id}\``,
      );
    }
  }

  /** Makes the rows again that were deleted since the start. */
  async restore(): Promise<void> {
    await this.#declare();
  }

  /** Returns ids of rows that code did not write. */
  async #declare(): Promise<readonly string[]> {
    if (this.#all.length === 0) return [];
    const { schedules } = this.#database;
    const written: string[] = [];
    let { unwritten, foreign } = await schedules.compare(this.#all);
    while (unwritten.length > 0) {
      // After the rows were read: what others decide about later times changes a row, which is compared again.
      const nowMs = await schedules.clock();
      const values = unwritten.map((one) => ({ ...one, nextAt: firstTime(one.rule, nowMs, one.lastAt) }));
      const some = await schedules.declare(values);
      written.push(...some);
      if (some.length === values.length) break;
      ({ unwritten, foreign } = await schedules.compare(this.#all));
    }
    if (written.length > 0) {
      this.#events.emit('notice', {
        message: `scheduled ${written
          .map((id) => `'${id}'`)
          .toSorted()
          .join(', ')}`,
      });
      await this.#ring();
    }
    return foreign;
  }

  async #define(found: FoundRecurring, handlers: readonly FoundHandler[]): Promise<ScheduleDefinition> {
    const { metadata, implementation } = found;
    const topics = handlers.flatMap(({ implementation: other, metadata: { target } }) =>
      other === implementation && target.kind === 'task' ? [target.id] : [],
    );
    const [topic] = topics;
    if (topics.length !== 1 || topic === undefined) {
      throw invalid(
        found,
        'needs exactly one @TaskHandler with a topic, of the same queue, on the same method',
      );
    }
    try {
      const given = readScheduleFields(metadata.options, ['task', 'queue']);
      const { maxPayloadBytes, schemas } = this.#rules;
      const task = readRecurringTask({ ...(given.task ?? {}), topic }, maxPayloadBytes);
      await schemas.check(task.topic, task.payload);
      return { id: readScheduleId(metadata.id), rule: readRule(given), task };
    } catch (error) {
      if (!(error instanceof TarefaError)) throw error;
      const { code, message } = error;
      throw new TarefaError(code, `@Recurring('${metadata.id}') on ${found.name}: ${message}`, {
        cause: error,
      });
    }
  }
}

function invalid({ metadata, name }: FoundRecurring, problem: string): TarefaError {
  return new TarefaError('HANDLER_INVALID', `@Recurring('${metadata.id}') on ${name} ${problem}`);
}
