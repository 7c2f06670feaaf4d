import { exerciseMysqlBell } from './mysql-bell-suite.js';

exerciseMysqlBell('mariadb');
