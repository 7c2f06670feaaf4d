import { createDatabase } from '../../support/database.js';
import { exerciseBellOption } from './bell-option-suite.js';

exerciseBellOption(async () => {
  const database = await createDatabase();
  return {
    url: database.url,
    queue: 'public.tasks',
    run: (sql) => database.pool.query(sql),
    insertQuietly: async (topic) => {
      await database.pool.query(`begin; alter table tasks disable trigger user;
        insert into tasks (processo) values ('${topic}'); alter table tasks enable trigger user; commit`);
    },
    drop: () => database.drop(),
  };
});
