import { createElsewhere } from '../../storage/conformance/other-mysql-settings.js';
import { exerciseMysqlBell } from './mysql-bell-suite.js';
import { exerciseMysqlLiveness } from './mysql-liveness-suite.js';

exerciseMysqlLiveness('mariadb', createElsewhere);
exerciseMysqlBell('mariadb', createElsewhere);
