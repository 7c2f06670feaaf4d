import { exerciseMysqlOperatorPlans } from './mysql-operator-plans.js';

exerciseMysqlOperatorPlans('mysql');
