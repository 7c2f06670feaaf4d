import { exercise } from './exercise.js';
import { useMysql } from './open-mysql.js';

exercise(useMysql('mysql'));
