import { describe } from 'vitest';
import { describeMysqlSession } from './mysql-session-suite.js';

describe('a session on MySQL', () => {
  describeMysqlSession('mysql');
});
