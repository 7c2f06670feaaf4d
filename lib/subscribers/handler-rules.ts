import { OptionCheck } from '../options/option-check.js';
import { isStandardSchema } from '../values/standard-schema.js';
import type { Lanes } from '../options/lanes.js';
import { columnLength } from '../storage/columns.js';
import type { HandlerMetadata, SubscriberOptions } from './decorators.js';
import { shownValue } from '../values/shown-value.js';
import type { HandlerRules } from './handler-registry.js';

const knownOptions: Record<Exclude<keyof SubscriberOptions, 'topic'>, true> = {
  concurrency: true,
  lane: true,
  timeoutMs: true,
  maxAttempts: true,
  retryDelayMs: true,
  retry: true,
  payload: true,
  schema: true,
  transformed: true,
  grouped: true,
  isolate: true,
  queue: true,
};

/**
 * Checks a handler's options.
 *
 * @param name `Class.method`, for the message
 * @param lanes those of the queue
 * @throws {TarefaError} `OPTIONS_INVALID`, with all mistakes at once
 */
export function resolveHandlerRules(
  { target, options }: HandlerMetadata,
  name: string,
  lanes: Lanes,
): HandlerRules {
  const check = new OptionCheck([]);
  const { kind, id } = target;
  const ofSubscription = kind === 'subscriber' || kind === 'dead-subscriber';
  const longest = ofSubscription ? columnLength.subscriptionId : columnLength.topic;
  const isText = typeof id === 'string' && id !== '' && Array.from(id).length <= longest;
  // Only task handlers may omit the id: they then take every topic.
  if (!isText && (id !== undefined || ofSubscription)) {
    check.mistake(`the id ${JSON.stringify(id)} must be text of 1 to ${longest} characters`);
  }
  check.known(Object.keys(options), [
    ...Object.keys(knownOptions),
    ...(kind === 'subscriber' ? ['topic'] : []),
  ]);
  const {
    concurrency,
    lane,
    timeoutMs,
    maxAttempts,
    retryDelayMs,
    retry,
    payload,
    schema,
    transformed,
    grouped,
    isolate,
  } = options;
  if (concurrency !== undefined) check.whole('concurrency', concurrency, 1, 10_000);
  if (lane !== undefined && !Object.hasOwn(lanes, lane)) check.mistake(unknownLane(lane, lanes));
  if (lane !== undefined && concurrency !== undefined)
    check.mistake('give concurrency or lane, not both: handlers of a lane share its slots');
  if (lane !== undefined && isolate !== undefined)
    check.mistake(
      'give isolate or lane, not both: isolated handlers share isolation.threads or isolation.processes',
    );
  if (timeoutMs !== undefined) check.number('timeoutMs', timeoutMs, 1, 2 ** 31 - 1);
  if (maxAttempts !== undefined) check.whole('maxAttempts', maxAttempts, 1, 1_000_000);
  if (retryDelayMs !== undefined) check.number('retryDelayMs', retryDelayMs, 0, 315_360_000_000);
  if (retry !== undefined && typeof retry !== 'function')
    check.mistake('retry must be a function of the attempt');
  if (retry !== undefined && retryDelayMs !== undefined)
    check.mistake('give retry or retryDelayMs, not both');
  if (payload !== undefined) check.oneOf('payload', payload, ['json', 'text']);
  if (schema !== undefined && !isStandardSchema(schema))
    check.mistake('schema must implement Standard Schema');
  if (transformed !== undefined) check.boolean('transformed', transformed);
  const { topic } = options;
  if (kind === 'subscriber' && topic !== undefined && !isTopic(topic))
    check.mistake(`topic must be text of 1 to ${columnLength.topic} characters (got ${shownValue(topic)})`);
  if (grouped !== undefined) check.boolean('grouped', grouped);
  if (isolate !== undefined) check.oneOf('isolate', isolate, ['thread', 'process', 'detached']);
  if (isolate !== undefined && grouped === true)
    check.mistake('give grouped or isolate, not both: a group shares one transaction of this process');
  if (isolate !== undefined && isolate !== 'detached' && concurrency !== undefined)
    check.mistake(
      'give concurrency or isolate, not both: isolated handlers share isolation.threads or isolation.processes',
    );
  check.throwIfAny(`the handler ${name}`);
  return {
    concurrency,
    lane: lane === undefined ? undefined : lanes[lane],
    timeoutMs,
    maxAttempts,
    retryDelay: retry ?? (retryDelayMs === undefined ? undefined : () => retryDelayMs),
    payload: payload ?? 'json',
    grouped: grouped ?? false,
    isolate,
  };
}

function unknownLane(lane: unknown, lanes: Lanes): string {
  const known = Object.keys(lanes)
    .map((name) => `'${name}'`)
    .join(', ');
  const todo =
    known === '' ? `the queue has no lanes: set its option lanes` : `the lanes of the queue are ${known}`;
  return `unknown lane ${shownValue(lane)}: ${todo}`;
}

function isTopic(topic: unknown): boolean {
  return typeof topic === 'string' && topic !== '' && Array.from(topic).length <= columnLength.topic;
}
