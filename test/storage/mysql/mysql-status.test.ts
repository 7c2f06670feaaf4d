import { exerciseMysqlStatus } from './mysql-status-contract.js';

exerciseMysqlStatus('mariadb');
