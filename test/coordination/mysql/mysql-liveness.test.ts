import { exerciseMysqlLiveness } from './mysql-liveness-suite.js';

exerciseMysqlLiveness('mariadb');
