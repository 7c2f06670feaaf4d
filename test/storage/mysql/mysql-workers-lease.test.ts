import { expect, test } from 'vitest';
import { whyLease } from '../../../lib/storage/mysql/connections/lease-detection.js';
import type { Run } from '../../../lib/storage/mysql/connections/transactions.js';

/** A server that answers with these variables and that id of the connection. */
function server(variables: Readonly<Record<string, string>>, id = '7'): Run {
  const rows = Object.entries(variables).map(([name, value]) => ({ Variable_name: name, Value: value }));
  return async () => [
    { rows, changed: 0, insertId: '0' },
    { rows: [{ id }], changed: 0, insertId: '0' },
  ];
}

test.each([
  { of: 'MySQL', variables: { group_replication_single_primary_mode: 'ON' } },
  { of: 'MariaDB without a cluster', variables: { wsrep_on: 'OFF' } },
  {
    of: 'the primary of a group',
    variables: { group_replication_group_name: 'aa', group_replication_single_primary_mode: 'ON' },
  },
])('a session is trusted on $of', async ({ variables }) => {
  expect(await whyLease(server(variables as Record<string, string>), 7)).toBeUndefined();
});

test.each([
  { why: /Galera/, variables: { wsrep_on: 'ON' } },
  {
    why: /several primaries/,
    variables: { group_replication_group_name: 'aa', group_replication_single_primary_mode: 'OFF' },
  },
])('a lease is needed where servers do not know each other’s locks: $why', async ({ why, variables }) => {
  expect(await whyLease(server(variables as Record<string, string>), 7)).toMatch(why);
});

test('a lease is needed behind a proxy, whose greeting names another connection than the server', async () => {
  expect(await whyLease(server({}, '8'), 7)).toMatch(/proxy/);
  expect(await whyLease(server({}, '8'), undefined)).toBeUndefined();
});
