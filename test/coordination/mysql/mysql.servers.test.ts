import { exerciseMysqlBell } from './mysql-bell-suite.js';
import { exerciseMysqlLiveness } from './mysql-liveness-suite.js';

exerciseMysqlLiveness('mysql');
exerciseMysqlBell('mysql');
