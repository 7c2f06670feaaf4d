import { exercise } from './exercise.js';
import { useMysql } from './open-mysql.js';
import { createElsewhere } from './other-mysql-settings.js';

exercise(useMysql('mysql', createElsewhere));
