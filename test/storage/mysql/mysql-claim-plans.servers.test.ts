import { exerciseMysqlClaimPlans } from './mysql-claim-plans.js';

exerciseMysqlClaimPlans('mysql');
