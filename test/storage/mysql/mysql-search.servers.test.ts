import { exerciseMysqlSearch } from './mysql-search-contract.js';

exerciseMysqlSearch('mysql');
