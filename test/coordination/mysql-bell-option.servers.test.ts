import { createMysqlDatabase } from '../support/mysql.js';
import { exerciseBellOption } from './bell-option-suite.js';

exerciseBellOption(async () => {
  const database = await createMysqlDatabase('mariadb');
  return {
    url: database.url,
    queue: `${database.name}.tasks`,
    run: (sql) => database.pool.query(sql),
    // No statement rings there.
    insertQuietly: async (topic) => {
      await database.pool.query('insert into tasks (processo) values (?)', [topic]);
    },
    drop: () => database.drop(),
  };
});
