import { expect, test } from 'vitest';
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
import { useDatabase } from '../support/database.js';

const database = await useDatabase();

test('SQL and TypeScript derive the same route, of whatever a row holds', async () => {
  const booleans = [false, true];
  const attempts = booleans.flatMap((publication) =>
    booleans.flatMap((dead) =>
      [null, '', 'mail', '*', 's:x'].flatMap((subscriptionId) =>
        [null, '', 'order', '*', 't:x', '!a'].flatMap((topic) =>
          [0, 1, 2, 7].flatMap((losses) =>
            [null, '', 'o:42'].map((key) => ({ publication, dead, subscriptionId, topic, losses, key })),
          ),
        ),
      ),
    ),
  );
  const { rows } = await database.pool.query<{ route: string }>(
    `select ${routeExpression('f.')} as route
     from rows from (jsonb_to_recordset($1::jsonb)
       as (pub_sub boolean, dead boolean, subscriber_id text, processo text, perdas int, chave_fila text))
       with ordinality as f(pub_sub, dead, subscriber_id, processo, perdas, chave_fila, n) order by n`,
    [
      JSON.stringify(
        attempts.map(({ publication, dead, subscriptionId, topic, losses, key }) => ({
          pub_sub: publication,
          dead,
          subscriber_id: subscriptionId,
          processo: topic,
          perdas: losses,
          chave_fila: key,
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
  const keyed = { publication: false, dead: false, subscriptionId: null, topic: 'a', key: 'o:1', losses: 0 };
  expect(plainRoute(routeOf(keyed))).toBe(topicRoute('a'));
  expect(plainRoute(routeOf({ ...keyed, publication: true }))).toBe('p');
  expect([topicRoute('*'), topicRoute(''), subscriptionRoute('a'), 'p', 'w'].map(describeRoute)).toEqual([
    'every other topic',
    'tasks without a topic',
    "subscription 'a'",
    'publications',
    'webhooks',
  ]);
});
