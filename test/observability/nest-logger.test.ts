import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import { afterEach, expect, test, vi } from 'vitest';
import { errorStack } from '../../lib/observability/error-text.js';
import type { LogLine } from '../../lib/observability/log-line.js';
import { NestLogSink } from '../../lib/observability/nest-log-sink.js';

const failed: LogLine = {
  level: 'warn',
  component: 'tasks',
  text: 'task 17 (send-receipt) attempt 2 failed: no paper',
  fields: { event: 'task.failed', queue: 'orders', taskId: '17', attempt: 2 },
};
const withStack: LogLine = {
  level: 'error',
  component: 'worker',
  text: 'worker 5 cannot go on',
  fields: { queue: 'orders', workerId: '5' },
  stack: errorStack(new Error('no')),
};
const notice: LogLine = {
  level: 'log',
  component: 'queue',
  text: 'made orders',
  fields: { queue: 'orders' },
};

afterEach(() => Logger.overrideLogger(new ConsoleLogger()));

/** What is printed while lines are written with a logger of the application's. */
function printed(logger: LoggerService | undefined, ...lines: LogLine[]): readonly string[] {
  if (logger) Logger.overrideLogger(logger);
  const output: string[] = [];
  const keep = (text: unknown): boolean => {
    output.push(...String(text).trimEnd().split('\n'));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  const sink = new NestLogSink('orders');
  for (const line of lines) sink.write(line);
  vi.restoreAllMocks();
  return output;
}

test.each([
  ['the usual console', undefined],
  ['a console logger of its own', new ConsoleLogger({ colors: false, timestamp: true })],
])('%s prints a line with time, level, queue and text, and no fields', (_, logger) => {
  const [first, second, third, ...frames] = printed(logger, failed, notice, withStack).map((line) =>
    line.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[\\d;]+m`, 'g'), ''),
  );
  const head = String.raw`^\[Nest\] ${process.pid}  - .*\d:\d\d:\d\d.* `;
  expect(first).toMatch(
    new RegExp(
      String.raw`${head}WARN \[Tarefa:orders tasks\] task 17 \(send-receipt\) attempt 2 failed: no paper( \+\d+ms)?$`,
    ),
  );
  expect(second).toMatch(new RegExp(String.raw`${head}LOG \[Tarefa:orders\] made orders( \+\d+ms)?$`));
  expect(third).toMatch(
    new RegExp(String.raw`${head}ERROR \[Tarefa:orders worker\] worker 5 cannot go on( \+\d+ms)?$`),
  );
  expect(frames.length).toBeGreaterThan(0);
  expect(frames.filter((line) => !/^ {4}at /.test(line))).toEqual([]);
});

test('the frames of a debug line stand below it', () => {
  const [first, ...frames] = printed(new ConsoleLogger({ colors: false }), { ...withStack, level: 'debug' });
  expect(first).toContain('DEBUG [Tarefa:orders worker] worker 5 cannot go on');
  expect(frames[0]).toMatch(/^ {4}at /);
});

test('JSON of the console logger has text and fields apart, in one record a line', () => {
  const records = printed(new ConsoleLogger({ json: true }), failed, withStack, {
    ...withStack,
    level: 'debug',
  }).map((line) => JSON.parse(line) as unknown);
  expect(records).toEqual([
    {
      level: 'warn',
      pid: process.pid,
      timestamp: expect.any(Number) as number,
      message: failed.text,
      context: 'Tarefa:orders tasks',
      params: failed.fields,
    },
    expect.objectContaining({
      level: 'error',
      message: withStack.text,
      context: 'Tarefa:orders worker',
      stack: withStack.stack,
      params: withStack.fields,
    }),
    expect.objectContaining({
      level: 'debug',
      message: withStack.text,
      params: { ...withStack.fields, stack: withStack.stack },
    }),
  ]);
});

test('JSON without structured parameters, as in Nest 11, has them in the message: still one record a line', () => {
  const logger = new ConsoleLogger({ json: true, structuredParams: false });
  expect(printed(logger, failed, withStack).map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({
      context: 'Tarefa:orders tasks',
      message: { msg: failed.text, ...failed.fields },
    }),
    expect.objectContaining({
      message: { msg: withStack.text, ...withStack.fields, stack: withStack.stack },
    }),
  ]);
});

/** Keeps what a logger of the application's is called with. */
function recorder(): { readonly logger: LoggerService; readonly calls: (readonly unknown[])[] } {
  const calls: (readonly unknown[])[] = [];
  const keep =
    (level: string) =>
    (...all: unknown[]): void =>
      void calls.push([level, ...all]);
  const logger = { log: keep('log'), warn: keep('warn'), error: keep('error'), debug: keep('debug') };
  return { logger, calls };
}

test('any other logger gets one object, from which nestjs-pino and nest-winston take text and fields', () => {
  const { logger, calls } = recorder();
  printed(logger, failed, withStack);
  const [first, second] = calls;
  expect(first?.[0]).toBe('warn');
  expect(first?.at(-1)).toBe('Tarefa:orders tasks');
  const message = first?.[1] as { message: string; toString(): string };
  // As nestjs-pino does it: its text is `msg`.
  expect({ context: 'c', ...message }).toEqual({ context: 'c', msg: failed.text, ...failed.fields });
  // As nest-winston does it.
  const { message: text, ...meta } = message;
  expect(text).toBe(failed.text);
  expect(meta).toEqual({ msg: failed.text, ...failed.fields });
  // As who prints it does it.
  expect(message.toString()).toBe(failed.text);
  // No stack as a parameter: nestjs-pino would take it for the text.
  expect(second?.slice(2)).toEqual([undefined, 'Tarefa:orders worker']);
  expect(second?.[1]).toMatchObject({ msg: withStack.text, stack: withStack.stack });
});

test('a logger that cannot take an object gets the text, from then on', () => {
  const { logger, calls } = recorder();
  const strict: LoggerService = {
    ...logger,
    warn: (message: string, ...rest: unknown[]): void => logger.warn(message.toUpperCase(), ...rest),
  };
  printed(strict, failed, failed, notice);
  expect(calls).toEqual([
    ['warn', failed.text.toUpperCase(), 'Tarefa:orders tasks'],
    ['warn', failed.text.toUpperCase(), 'Tarefa:orders tasks'],
    ['log', notice.text, 'Tarefa:orders'],
  ]);
});

test('nothing is written where logs are off', () => {
  Logger.overrideLogger(false);
  expect(printed(undefined, failed, withStack)).toEqual([]);
});

test('lines that nobody will see are not asked for', () => {
  const wanted = (): readonly boolean[] =>
    (['debug', 'log', 'warn', 'error'] as const).map((level) => new NestLogSink('orders').wants(level));
  Logger.overrideLogger(new ConsoleLogger({ logLevels: ['warn', 'error'] }));
  expect(wanted()).toEqual([false, false, true, true]);
  Logger.overrideLogger(recorder().logger);
  expect(wanted()).toEqual([true, true, true, true]);
  Logger.overrideLogger(false);
  expect(wanted()).toEqual([false, false, false, false]);
});
