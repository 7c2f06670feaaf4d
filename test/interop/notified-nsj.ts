import { onTestFinished } from 'vitest';
import { ServerLocks } from './nsj-locks.js';
import { NsjWorker, type NsjHandler } from './nsj-worker.js';

/**
 * Starts a worker of nsj-queue-lib in client-server mode that works whenever the server wakes it, and notes what it runs in the table
 * `effects`. It dies where a task says so that it is the first to run, and another takes its place.
 */
export async function startNotifiedNsj(
  url: string,
  server: Parameters<typeof ServerLocks.open>[0],
  maxAttempts?: number,
): Promise<void> {
  const locks = await ServerLocks.open(server);
  const handler: NsjHandler = async (task, db) => {
    await db.query('insert into effects values ($1, $2)', [
      task.publication_id === null
        ? `task ${task.id_inicial ?? task.id}`
        : `delivery ${task.publication_id} ${task.subscriber_id}`,
      'theirs',
    ]);
    if (task.processo === 'fatal' && task.tentativa === 1) {
      nsj.kill();
      await startNotifiedNsj(url, server, maxAttempts);
      // Nobody hears of it any more.
      await new Promise(() => undefined);
    }
    return 'done';
  };
  const nsj = await NsjWorker.start(url, handler, {
    locks,
    ...(maxAttempts !== undefined && { maxAttempts }),
  });
  onTestFinished(() => nsj.stop());
  void (async () => {
    for (;;) {
      await locks.notified.accept();
      await nsj.drain();
      await locks.notified.call('sleep()');
    }
  })().catch(() => undefined);
}
