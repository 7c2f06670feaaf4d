import { exerciseMysqlClaims } from './mysql-claim-contract.js';

exerciseMysqlClaims('mysql');
