import { expect } from 'vitest';
import type { SubscriptionValues } from '../../../lib/storage/subscriptions.js';
import { contract } from './contract-test.js';
import type { OpenDatabase } from './opened.js';

const values: SubscriptionValues = {
  id: 'invoices',
  topic: 'order',
  tenant: '7',
  group: 'g',
  url: 'https://example.com/hook',
  httpMethod: 'PUT',
  headers: { 'x-one': '1' },
  active: true,
};

/** What every database promises of `SubscriptionStore`. */
export function exerciseSubscriptions(open: OpenDatabase): void {
  contract('an added subscription is read as it was given', async () => {
    const { subscriptions } = (await open()).database;
    const added = await subscriptions.add(values);
    expect(added).toEqual({ ...values, createdAt: expect.any(Date) });
    expect(await subscriptions.find('invoices')).toEqual(added);
    expect(await subscriptions.find('nobody')).toBeUndefined();
  });

  contract('an id that is taken changes nothing', async () => {
    const { subscriptions } = (await open()).database;
    await subscriptions.add(values);
    expect(await subscriptions.add({ ...values, topic: 'other' })).toBeUndefined();
    expect((await subscriptions.find('invoices'))?.topic).toBe('order');
  });

  contract('subscriptions are listed by id, all or those of a topic', async () => {
    const { subscriptions } = (await open()).database;
    for (const [id, topic] of [
      ['c', 'x'],
      ['a', 'x'],
      ['b', 'y'],
    ] as const) {
      await subscriptions.add({ ...values, id, topic });
    }
    expect((await subscriptions.list()).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect((await subscriptions.list('x')).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await subscriptions.list('nothing')).toEqual([]);
  });

  contract('a change writes all values, and nothing where there is no such subscription', async () => {
    const { subscriptions } = (await open()).database;
    const added = await subscriptions.add(values);
    const empty = { tenant: null, group: null, url: null, httpMethod: null, headers: null, active: false };
    const changed = { id: 'invoices', topic: 'other', ...empty };
    expect(await subscriptions.change(changed)).toEqual({ ...changed, createdAt: added?.createdAt });
    expect(await subscriptions.find('invoices')).toMatchObject(changed);
    expect(await subscriptions.change({ ...changed, id: 'nobody' })).toBeUndefined();
    expect(await subscriptions.list()).toHaveLength(1);
  });

  contract('a subscription is removed once', async () => {
    const { subscriptions } = (await open()).database;
    await subscriptions.add(values);
    expect(await subscriptions.remove('invoices')).toBe(true);
    expect(await subscriptions.remove('invoices')).toBe(false);
    expect(await subscriptions.list()).toEqual([]);
  });

  contract(
    'declared subscriptions are made where they are missing, and keep their values where they are not',
    async () => {
      const { subscriptions } = (await open()).database;
      await subscriptions.add(values);
      const declared = [
        { id: 'invoices', topic: 'elsewhere' },
        { id: 'new', topic: 'order' },
        { id: 'unknown', topic: undefined },
      ];
      const rows = await subscriptions.declare(declared);
      expect(rows?.toSorted((one, other) => one.id.localeCompare(other.id))).toEqual([
        { id: 'invoices', topic: 'order', made: false },
        { id: 'new', topic: 'order', made: true },
      ]);
      expect(await subscriptions.find('invoices')).toMatchObject(values);
      expect(await subscriptions.find('new')).toMatchObject({ active: true, url: null, tenant: null });
      expect((await subscriptions.declare(declared))?.some(({ made }) => made)).toBe(false);
    },
  );
}
