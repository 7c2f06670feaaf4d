import { exerciseMysqlPurge } from './mysql-purge-contract.js';

exerciseMysqlPurge('mysql');
