import { describe } from 'vitest';
import { describeMysqlSession } from './mysql-session-suite.js';

// MySQL's is in mysql-session.long.test.ts.
describe('a session on MariaDB', () => {
  describeMysqlSession('mariadb');
});
