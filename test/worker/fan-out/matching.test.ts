import { afterEach, expect, test } from 'vitest';
import { useDatabase } from '../../support/database.js';
import { useApp } from '../../support/queue-app.js';
import { subscribe } from '../../support/subscriptions.js';
import { nextEvent } from '../../support/waiting.js';

const tenants = [null, 1, 2] as const;
const groups = [null, 'g1', 'g2'] as const;

const database = await useDatabase();
// Deliveries are left alone: only who gets one matters here.
const app = await useApp(database, { unknownTasks: 'leave' });

afterEach(() => database.pool.query('truncate tasks, tasks_subscriber'));

interface Publication {
  readonly topic?: string;
  readonly tenant?: number | null;
  readonly group?: string | null;
}

/** Publishes; returns the subscriptions that got a delivery, and what the publication says. */
async function publish({ topic = 'order-placed', ...input }: Publication): Promise<{
  readonly receivers: readonly string[];
  readonly message: string | undefined;
}> {
  const delivered = nextEvent(app.events, 'publication.delivered');
  const id = await app.queue.insertTaskPubSub({ topic, payload: { a: 1 }, ...input });
  await delivered;
  const copies = await database.pool.query<{ subscriber_id: string }>(
    'select subscriber_id from tasks where publication_id = $1 order by 1',
    [id],
  );
  const publication = await database.pool.query<{ mensagem: string }>(
    `select mensagem from tasks where id = $1 and status = 'sucesso'`,
    [id],
  );
  return {
    receivers: copies.rows.map((row) => row.subscriber_id),
    message: publication.rows[0]?.mensagem,
  };
}

/** A subscription matches when each of its two fields is unset or the task's own. */
const matching = ([tenant, group]: readonly [number | null, string | null]): readonly string[] =>
  [null, 1]
    .flatMap((subscribed) => [null, 'g1'].map((subscribedGroup) => [subscribed, subscribedGroup] as const))
    .filter(
      ([own, ownGroup]) => (own === null || own === tenant) && (ownGroup === null || ownGroup === group),
    )
    .map(([own, ownGroup]) => `${own}-${ownGroup}`)
    .sort();

test.each(tenants.flatMap((tenant) => groups.map((group) => [tenant, group] as const)))(
  'a task of tenant %s and group %s reaches exactly the subscriptions that match',
  async (tenant, group) => {
    await subscribe(database, [
      { id: 'null-null' },
      { id: 'null-g1', grupo_empresarial: 'g1' },
      { id: '1-null', tenant: 1 },
      { id: '1-g1', tenant: 1, grupo_empresarial: 'g1' },
    ]);
    const { receivers, message } = await publish({ tenant, group });
    expect(receivers).toEqual(matching([tenant, group]));
    expect(message).toBe(`delivered to ${receivers.length} subscription${receivers.length === 1 ? '' : 's'}`);
  },
);

test('the matrix holds what the contract says of its corners', () => {
  expect(matching([null, null])).toEqual(['null-null']);
  expect(matching([2, 'g2'])).toEqual(['null-null']);
  expect(matching([1, 'g2'])).toEqual(['1-null', 'null-null']);
  expect(matching([1, 'g1'])).toEqual(['1-g1', '1-null', 'null-g1', 'null-null']);
});

test('neither inactive subscriptions nor those of another topic get a delivery', async () => {
  await subscribe(database, [
    { id: 'active' },
    { id: 'inactive', ativo: false },
    { id: 'other', processo: 'order-cancelled' },
    { id: 'upper case', processo: 'Order-Placed' },
    { id: 'blank', processo: 'order-placed ' },
    { id: 'longer', processo: 'order-placed.v2' },
    { id: 'pattern', processo: 'order%' },
  ]);
  expect((await publish({})).receivers).toEqual(['active']);
});

test('a publication that nobody subscribes to ends well and says that it was discarded', async () => {
  await subscribe(database, [{ id: 'inactive', ativo: false }]);
  expect(await publish({})).toEqual({
    receivers: [],
    message: 'discarded: no active subscription matches',
  });
  const { rows } = await database.pool.query(
    'select status, tentativa, reenfileirado, estouro_tentativas from tasks',
  );
  expect(rows).toEqual([
    { status: 'sucesso', tentativa: 1, reenfileirado: false, estouro_tentativas: false },
  ]);
});

test('the same without any subscription at all', async () => {
  expect((await publish({})).message).toMatch(/^discarded/);
});
