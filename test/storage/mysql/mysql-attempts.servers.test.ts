import { describe } from 'vitest';
import { exerciseMysqlAttempts } from './mysql-attempt-contract.js';
import { exerciseMysqlWalks } from './mysql-walk-contract.js';

describe('ends of attempts', () => {
  exerciseMysqlAttempts('mysql');
});
describe('walks', () => {
  exerciseMysqlWalks('mysql');
});
