import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeExpression } from '../../lib/storage/postgres/statement.js';
import {
  describeRoute,
  isolatedRoute,
  namesOfRoute,
  plainRoute,
  routeOf,
  subscriptionRoute,
  topicRoute,
} from '../../lib/storage/route.js';
import { createDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('SQL and TypeScript derive the same route, of whatever a row holds', async () => {
  const booleans = [false, true];
  const attempts = booleans.flatMap((publication) =>
    booleans.flatMap((dead) =>
      [null, '', 'mail', '*', 's:x'].flatMap((subscriptionId) =>
        [null, '', 'order', '*', 't:x', '!a'].flatMap((topic) =>
          [0, 1, 2, 7].map((losses) => ({ publication, dead, subscriptionId, topic, losses })),
        ),
      ),
    ),
  );
  const { rows } = await database.pool.query<{ route: string }>(
    `select ${routeExpression('f.')} as route
     from rows from (jsonb_to_recordset($1::jsonb)
       as (pub_sub boolean, dead boolean, subscriber_id text, processo text, perdas int))
       with ordinality as f(pub_sub, dead, subscriber_id, processo, perdas, n) order by n`,
    [
      JSON.stringify(
        attempts.map(({ publication, dead, subscriptionId, topic, losses }) => ({
          pub_sub: publication,
          dead,
          subscriber_id: subscriptionId,
          processo: topic,
          perdas: losses,
        })),
      ),
    ],
  );
  expect(rows.map(({ route }) => route)).toEqual(attempts.map(routeOf));
});

test('a route says its topic or subscription again, isolated or not', () => {
  expect(namesOfRoute(topicRoute('a:b'))).toEqual({ topic: 'a:b', subscriptionId: null });
  expect(namesOfRoute(topicRoute(null))).toEqual({ topic: null, subscriptionId: null });
  expect(namesOfRoute(subscriptionRoute('a'))).toEqual({ topic: null, subscriptionId: 'a' });
  expect(plainRoute(isolatedRoute(topicRoute('a')))).toBe(topicRoute('a'));
  expect([topicRoute('*'), topicRoute(''), subscriptionRoute('a'), 'p', 'w'].map(describeRoute)).toEqual([
    'every other topic',
    'tasks without topic',
    "subscription 'a'",
    'publications',
    'webhooks',
  ]);
});
