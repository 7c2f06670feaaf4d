import { MysqlSession } from '../../../lib/storage/mysql/connections/mysql-session.js';
import { mysqlConfig } from '../../../lib/storage/mysql/connections/mysql-config.js';

// Holds the lock `key:1` by a session to `DATABASE_URL` that may say nothing for so many seconds, and tells what becomes of it. `block` blocks
// its event loop for 6 s; `stop` ends it.
const session = new MysqlSession(mysqlConfig(process.env['DATABASE_URL'] ?? ''), {
  silentSeconds: Number(process.env['SILENT_SECONDS']),
  proofMs: 500,
});
const tell = (type: string): void => void process.send?.({ type, up: session.up });

await session.start();
session.watch({ lost: () => tell('lost'), restored: () => tell('restored') });
await session.hold('key:1');
process.on('message', (message) => {
  if (message === 'up') return tell('up');
  if (message === 'block') {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
    return tell('free');
  }
  void session.stop().then(() => process.disconnect());
});
tell('ready');
