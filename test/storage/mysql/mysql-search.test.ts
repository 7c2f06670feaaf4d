import { exerciseMysqlSearch } from './mysql-search-contract.js';

exerciseMysqlSearch('mariadb');
