import { exerciseMysqlWorkers } from './mysql-workers-suite.js';

exerciseMysqlWorkers('mariadb');
