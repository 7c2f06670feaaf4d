import { afterAll, beforeAll, describe } from 'vitest';
import type { RemoteBell } from '../../../lib/coordination/remote-bell.js';
import { bellOf, bellServers, type BellServer } from '../brokers/bell-servers.js';
import { brokerStartMs } from '../brokers/broker-process.js';
import { exerciseBell } from './bell.js';
import { run } from './run.js';

describe.each(['redis', 'nats'] as const)('through %s', (name) => {
  let server: BellServer;
  let bells: readonly RemoteBell[];

  beforeAll(async () => {
    server = await bellServers[name]();
    // As if each were in a process of its own.
    const queues = ['public.tasks', 'public.tasks', 'public.others'];
    bells = await Promise.all(queues.map((queue) => bellOf(server, queue)));
  }, brokerStartMs);
  afterAll(async () => {
    await Promise.all(bells.map((bell) => bell.close()));
    await server.remove();
  });

  run(`bell by ${name}`, () =>
    exerciseBell(async () => {
      const [one, other, stranger] = bells as [RemoteBell, RemoteBell, RemoteBell];
      return { one, other, stranger };
    }),
  );
});
