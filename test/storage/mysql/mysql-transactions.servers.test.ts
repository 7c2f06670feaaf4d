import { describe } from 'vitest';
import { exerciseMysqlGroups } from './mysql-group-contract.js';
import { exerciseMysqlTransactions } from './mysql-transaction-contract.js';

describe('transactions', () => {
  exerciseMysqlTransactions('mysql');
});
describe('groups', () => {
  exerciseMysqlGroups('mysql');
});
