import { expect, onTestFinished, test, vi } from 'vitest';
import { readCall } from '../../../lib/coordination/tcp/calls.js';
import { useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { NsjSocket } from './nsj-socket.js';
import { startServer } from './start-server.js';

const database = await useDatabase();

test('with CLIENT_SERVER_MODE what a process inserts is rung through the server that the variables name', async () => {
  // Not where it would be looked for by default.
  const { server } = await startServer({ host: '127.0.0.2' });
  const variables = {
    CLIENT_SERVER_MODE: 'TRUE',
    SERVER_HOST: '127.0.0.2',
    LOCK_SERVICE_PORT: String(server.lockPort),
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { queue, close } = await startApp(database, { worker: false });
  onTestFinished(close);
  const hears = await NsjSocket.open(server.lockPort, '127.0.0.2');
  const waits = await NsjSocket.open(server.notifyPort, '127.0.0.2');
  expect(await hears.call('listen("public.tasks")')).toBe('True');
  expect(await waits.call('nothing')).toBe('False');
  await queue.insertTask({ topic: 'rung', priority: 60 });
  expect(readCall(await hears.next())).toMatchObject({
    name: 'ring',
    ring: { queue: 'public.tasks', topic: 'tasks', message: { highest: 60 } },
  });
  // Workers of nsj-queue-lib are told, too.
  expect(await waits.next()).toBe('NOTIFY');
});
