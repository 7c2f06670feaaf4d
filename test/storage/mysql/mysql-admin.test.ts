import { exerciseMysqlAdmin } from './mysql-admin-contract.js';

exerciseMysqlAdmin('mariadb');
