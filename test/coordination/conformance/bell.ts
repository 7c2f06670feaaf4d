import { expect } from 'vitest';
import type { Bell, BellTopic, HeardMessages } from '../../../lib/coordination/bell.js';
import { contract, contractOfEach } from '../../storage/conformance/contract-test.js';
import { Arrivals } from '../../support/arrivals.js';
import type { OpenBells } from './opened.js';

/** What every bell that can listen promises. */
export function exerciseBell(open: OpenBells): void {
  contract('a ring for tasks is heard by every listener, that of its own process included', async () => {
    const { one, other } = await open();
    await using heard = await listenAll([one, other], 'tasks');
    await one.ring('tasks', { later: true });
    for (const arrivals of heard.by) {
      expect(await arrivals.next()).toMatchObject({ later: true, halt: false, changed: false });
    }
  });

  const orders = [{ halt: true }, { changed: true }] as const;
  contractOfEach(orders, (order) => Object.keys(order).join(''))(
    'the order %s is heard as such, though rings for tasks go out beside it',
    async (order) => {
      const { one, other } = await open();
      await using heard = await listenAll([other], 'tasks');
      const rings = [one.ring('tasks', {}), one.ring('tasks', order), one.ring('tasks', { later: true })];
      await Promise.all(rings);
      const [arrivals] = heard.by;
      // What the next test hears is not the last of these.
      for (let [isOrdered, isLater] = [false, false]; !isOrdered || !isLater;) {
        const ring = await arrivals?.next();
        isLater ||= ring?.later === true;
        if (!ring?.halt && !ring?.changed) continue;
        expect(ring).toMatchObject(order);
        isOrdered = true;
      }
    },
  );

  contract('a ring says since when its first task may have been due, and its highest priority', async () => {
    const { one, other } = await open();
    await using heard = await listenAll([other], 'tasks');
    await one.ring('tasks', { dueMs: 1_700_000_000_123, highest: 70 });
    expect(await heard.by[0]?.next()).toMatchObject({ dueMs: 1_700_000_000_123, highest: 70 });
  });

  const messages = [
    ['looks', '17'],
    ['waits', { firstAttemptId: '5', forMs: 250 }],
    ['ends', '5'],
  ] as const;
  contractOfEach(messages, ([topic]) => topic)(
    'a ring of %s brings its message',
    async ([topic, message]) => {
      const { one, other } = await open();
      await using heard = await listenAll([other], topic);
      await one.ring(topic, message);
      expect(await heard.by[0]?.next()).toEqual(message);
    },
  );

  contract('a ring of one topic is not heard on another', async () => {
    const { one, other } = await open();
    await using ends = await listenAll([other], 'ends');
    await using looks = await listenAll([other], 'looks');
    await one.ring('ends', '5');
    await one.ring('looks', '17');
    expect(await looks.by[0]?.next()).toBe('17');
    expect(await ends.by[0]?.next()).toBe('5');
    expect([looks.by[0]?.left, ends.by[0]?.left]).toEqual([0, 0]);
  });

  contract('a ring of another queue is not heard', async () => {
    const { one, other, stranger } = await open();
    await using heard = await listenAll([other], 'looks');
    await stranger.ring('looks', '1');
    await one.ring('looks', '2');
    expect(await heard.by[0]?.next()).toBe('2');
  });

  contract('after its stop a listener hears nothing, and the others go on', async () => {
    const { one, other } = await open();
    const stopped: string[] = [];
    const stop = await other.listen('ends', (id) => stopped.push(id));
    await using heard = await listenAll([other], 'ends');
    await stop();
    await one.ring('ends', '5');
    expect(await heard.by[0]?.next()).toBe('5');
    expect(stopped).toEqual([]);
  });
}

interface Heard<Topic extends BellTopic> extends AsyncDisposable {
  readonly by: readonly Arrivals<HeardMessages[Topic]>[];
}

/** Listens by each of the bells, until it is disposed of. */
async function listenAll<Topic extends BellTopic>(
  bells: readonly Bell[],
  topic: Topic,
): Promise<Heard<Topic>> {
  const by = bells.map(() => new Arrivals<HeardMessages[Topic]>());
  const stops: (() => Promise<void>)[] = [];
  for (const [index, bell] of bells.entries()) {
    stops.push(await bell.listen(topic, (message) => by[index]?.add(message)));
  }
  return {
    by,
    [Symbol.asyncDispose]: async () => {
      for (const stop of stops) await stop();
    },
  };
}
