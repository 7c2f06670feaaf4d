import { setTimeout as pause } from 'node:timers/promises';
import { countRunning, type Nemesis } from './nemesis.js';

const restartServer = (kind: string): Nemesis => ({
  kind,
  group: 'server',
  strike: async ({ ground }) => {
    const running = await countRunning(ground.ask);
    await ground.restart();
    return running > 0 ? `${running} rows in flight` : undefined;
  },
});

const crashServer = (title: string): Nemesis => ({
  kind: `crash ${title}`,
  group: 'server',
  strike: async ({ ground }, random) => {
    const running = await countRunning(ground.ask);
    await ground.crash();
    await pause(random.whole(0, 1_500));
    await ground.start();
    return running > 0 ? `${running} rows in flight` : undefined;
  },
});

const lockRows: Nemesis = {
  kind: 'lock rows',
  strike: async ({ ground, history }, random) => {
    const client = await ground.clients.connect().catch(() => undefined);
    if (!client) return undefined;
    const from = Date.now();
    try {
      await client.query('begin');
      const ids = await ground.ask.lockSome(client, random.chance(0.5) ? 'waiting' : 'running');
      await pause(random.whole(300, 1_500));
      await client.query('rollback');
      if (ids.length > 0) history.write({ event: 'locked', ids, from, to: Date.now() });
      return ids.length > 0 ? `${ids.length} rows` : undefined;
    } catch {
      history.write({ event: 'locked', ids: [], from, to: Date.now() });
      return undefined;
    } finally {
      client.release(new Error('it held locks'));
    }
  },
};

/** Faults that any database server knows, by its name. */
export function serverFaults(title: string, restart = `restart ${title}`): readonly Nemesis[] {
  return [restartServer(restart), crashServer(title), lockRows];
}
