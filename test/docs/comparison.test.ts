import { existsSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { documentAt, pathOf } from './documents.js';

/** By row of the table: the tests that show what its first column says. */
const shownBy: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  'Guards, interceptors, filters': [
    [
      'subscribers/enhancers',
      'guard, interceptor, pipe and handler run in this order, with the providers of their module',
    ],
    [
      'subscribers/enhancers',
      'a filter that answers makes a success of a failure, and one that does not match changes nothing',
    ],
  ],
  'Global enhancers': [
    ['subscribers/enhancers', 'global enhancers are left out, and named at the start'],
    ['subscribers/enhancers', 'global enhancers that are asked for run: $chosen'],
  ],
  'Payload validation': [
    [
      'subscribers/enhancers',
      'a pipe that refuses the payload fails the task at once, saying why; the handler may still throw the same',
    ],
    ['subscribers/payload-schemas', 'ValidationPipe checks a class and makes an instance of it'],
    ['subscribers/payload-schemas', 'a handler gets what its schema makes of the payload'],
  ],
  'Refused before it is stored': [
    [
      'subscribers/payload-schemas',
      'a payload that does not match is refused at insert, and nothing is stored',
    ],
  ],
  'Request scope': [
    [
      'subscribers/request-scope',
      'a request-scoped provider gets a fresh instance for each task, whose context it can inject',
    ],
  ],
  'Several handlers in a class': [
    [
      'subscribers/registration',
      'a subscription and a topic of the same name, live and dead, are four different ids',
    ],
  ],
  'Handlers on controllers': [
    ['subscribers/registration', 'handlers may stand on controllers, factories and values'],
  ],
  'Inherited methods': [
    ['subscribers/registration', 'an inherited method handles, an overriding one takes its place'],
  ],
  'A mistake in a registration': [
    ['subscribers/registration', 'an id declared twice is refused at start, naming both methods'],
    ['subscribers/registration', 'a start that is refused leaves no connection'],
  ],
  'Options from a provider': [
    ['options/precedence', 'useFactory gets what it injects'],
    ['options/precedence', 'forRootAsync with useClass makes the factory'],
    ['options/precedence', 'forRootAsync with useExisting takes the factory of another module'],
    ['options/nest-config', 'a namespace of @nestjs/config gives the options by asProvider()'],
  ],
  'Named instances': [
    ['options/named-queues', 'two queues of one application have their own tables, channels and handlers'],
  ],
  'Start control': [
    ['worker/auto-start', 'with autoStart false nothing is claimed until the worker is started, once'],
  ],
  'Producers without a worker': [
    ['options/producer-only', 'a producer has no session and no cron job'],
    ['options/producer-only', 'no timer and no listener keep its process alive, closed or not'],
  ],
  'Work starts': [
    [
      'options/lifecycle',
      'tasks begin when every module has booted, and have ended before any of them is torn down',
    ],
  ],
  Shutdown: [
    [
      'options/lifecycle',
      'tasks begin when every module has booted, and have ended before any of them is torn down',
    ],
    [
      'worker/shutdown',
      'a handler that ignores the shutdown is left to other workers, and cannot commit any more',
    ],
  ],
  'Insert in the user’s transaction': [
    ['client/handles', 'in one transaction tasks and rows of the caller end together: %s'],
    ['client/transaction-adapters', 'commits the tasks with its own rows'],
    [
      'client/transaction-adapters',
      'sees its own tasks before it commits, and leaves nothing when it rolls back',
    ],
  ],
  'Work and success in one commit': [
    ['worker/success', 'business row, success and message become visible together'],
    ['worker/client-in-orm', 'what it does commits together with the success of the task'],
    ['client/complete-in-orm', 'the task ends with its transaction'],
  ],
  'Retries and dead letters': [
    ['worker/retry-rules', 'maxAttempts of a handler counts instead of that of the queue'],
    ['worker/dead-chain', 'after its last attempt a task runs in the dead handler, once, and stays failed'],
  ],
  'A killed worker': [
    [
      'coordination/killed-workers.servers',
      'five workers, one of them killed every second: each of 10,000 tasks has exactly one effect',
    ],
  ],
  'Several processes': [
    ['worker/many-workers', 'five worker processes execute 1,000 tasks exactly once each'],
  ],
  'Named events': [
    ['subscribers/on-queue-event', 'methods listen to events, several on one, and their errors are warnings'],
    ['subscribers/on-queue-event', 'an observable hears while it is subscribed'],
  ],
  Health: [['terminus/queue-health', 'a running worker is healthy, and one that has stopped is not']],
  'Tests without a database': [
    ['testing/without-database', 'a handler runs with what Nest puts around it, and its end is told'],
    ['testing/without-database', 'whatever else needs a database says so'],
  ],
  'Time moved forward in tests': [
    ['testing/queue-tester', 'history gets older as time moves, so that the purge finds it'],
    ['testing/queue-tester', 'a task keeps its key however time moves'],
  ],
};

test('every row of the comparison says what this library does, and a test shows it', () => {
  const { text } = documentAt('docs/comparison.md');
  const table = text.slice(
    text.indexOf('<!-- comparison:start -->'),
    text.indexOf('<!-- comparison:end -->'),
  );
  // Without the head.
  const rows = [...table.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\|/gm)].slice(2);
  expect(rows.map(([, row]) => row)).toEqual(Object.keys(shownBy));
  expect(rows.filter(([, , ours]) => ours === '–')).toEqual([]);
  expect(Object.keys(shownBy).filter((row) => shownBy[row]?.length === 0)).toEqual([]);
});

test.each(Object.entries(shownBy))('%s: the tests that show it are there', (_, tests) => {
  const missing = tests.filter(([file, title]) => !titlesIn(`test/${file}.test.ts`).has(title));
  expect(missing).toEqual([]);
});

/** Titles of the tests of a file that are run. */
function titlesIn(path: string): ReadonlySet<string> {
  if (!existsSync(pathOf(path))) return new Set();
  const source = ts.createSourceFile(path, readFileSync(pathOf(path), 'utf8'), ts.ScriptTarget.Latest);
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    const [title] = ts.isCallExpression(node) ? node.arguments : [];
    if (ts.isCallExpression(node) && title && ts.isStringLiteralLike(title) && isTest(node.expression)) {
      titles.add(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** `test`, `it`, and `test.each(…)`, but not `test.skip`. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ['test', 'testOnPostgres', 'it'].includes(callee.text);
  if (!ts.isCallExpression(callee)) return false;
  const { expression: each } = callee;
  return ts.isPropertyAccessExpression(each) && each.name.text === 'each' && isTest(each.expression);
}
