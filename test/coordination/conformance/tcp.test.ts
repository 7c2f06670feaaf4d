import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bell } from '../../../lib/coordination/bell.js';
import { JoinedBell } from '../../../lib/coordination/joined-bell.js';
import { CoordinationServer } from '../../../lib/coordination/tcp/coordination-server.js';
import type { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { Arrivals } from '../../support/arrivals.js';
import { tcpBell } from '../tcp/start-server.js';
import { exerciseBell } from './bell.js';
import type { OpenedBells } from './opened.js';
import { run } from './run.js';

let server: CoordinationServer;
let bells: readonly [RemoteBell, RemoteBell, RemoteBell];

beforeAll(async () => {
  server = await CoordinationServer.start({
    host: '127.0.0.1',
    notifyPort: 0,
    lockPort: 0,
    maxClients: 50,
    messageTimeoutMs: 5_000,
    idleTimeoutMs: 30_000,
    mayLock: async () => true,
    queue: 'public.tasks',
    report: () => undefined,
  });
  const bell = (queue: string): RemoteBell => tcpBell(server.lockPort, queue);
  // As if each were in a process of its own.
  bells = [bell('public.tasks'), bell('public.tasks'), bell('public.others')];
});
afterAll(async () => {
  await Promise.all(bells.map((bell) => bell.close()));
  await server.close();
});

run('bell', () =>
  exerciseBell(async () => {
    const [one, other, stranger] = bells;
    return { one, other, stranger };
  }),
);

/** As behind a pooler. */
const silent: Bell = {
  canListen: false,
  tellsOthers: false,
  ring: async () => undefined,
  carried: () => undefined,
  listen: () => Promise.reject(new Error('there is no session to listen with')),
};

run('bell beside a database that cannot be listened to', () =>
  exerciseBell(async () => {
    const [one, other, stranger] = bells.map((bell) => new JoinedBell(silent, bell));
    return { one, other, stranger } as OpenedBells;
  }),
);

test('beside a database that can be listened to both ring, and the database is heard alone', async () => {
  const [database, , beside] = bells;
  const joined = new JoinedBell(database, beside);
  const [heard, heardBeside] = [new Arrivals<string>(), new Arrivals<string>()];
  const stops = [
    await joined.listen('ends', (end) => heard.add(end)),
    await beside.listen('ends', (end) => heardBeside.add(end)),
  ];
  await beside.ring('ends', 'beside');
  expect(await heardBeside.next()).toBe('beside');
  await joined.ring('ends', 'both');
  expect([await heard.next(), await heardBeside.next()]).toEqual(['both', 'both']);
  expect(heard.left).toBe(0);
  for (const stop of stops) await stop();
});
