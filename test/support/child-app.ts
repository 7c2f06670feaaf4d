import type { QueueModuleOptions } from '../../lib/index.js';
import { startApp, type QueueApp, type QueueAppOptions } from './queue-app.js';

/**
 * Starts the application of a child program: a worker of the queue `tasks` in `DATABASE_URL`, with the options in
 * `QUEUE_OPTIONS` (JSON). `close` closes it; after that nothing may keep the process alive.
 */
export async function startChildApp(parts: Pick<QueueAppOptions, 'handlers' | 'logger'>): Promise<QueueApp> {
  const options = JSON.parse(process.env['QUEUE_OPTIONS'] ?? '{}') as QueueModuleOptions;
  const started = await startApp({ url: process.env['DATABASE_URL'] ?? '' }, { ...parts, ...options });
  let closing = false;
  process.on('message', (message) => {
    if (message !== 'close') return;
    closing = true;
    void started.close().then(() => process.disconnect());
  });
  // Whoever started this process is gone.
  process.once('disconnect', () => {
    if (!closing) process.exit(1);
  });
  return started;
}
