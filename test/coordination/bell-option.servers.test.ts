import { createDatabase } from '../support/database.js';
import { startPgBouncer } from '../faults/kit/pgbouncer.js';
import { exerciseBellOption } from './bell-option-suite.js';

exerciseBellOption(async () => {
  const database = await createDatabase();
  // Through it nobody can listen.
  const bouncer = await startPgBouncer(database, 'transaction');
  return {
    url: bouncer.url,
    queue: 'public.tasks',
    run: (sql) => database.pool.query(sql),
    insertQuietly: async (topic) => {
      await database.pool.query(`begin; alter table tasks disable trigger user;
        insert into tasks (processo) values ('${topic}'); alter table tasks enable trigger user; commit`);
    },
    drop: async () => {
      await bouncer.stop();
      await database.drop();
    },
  };
});
