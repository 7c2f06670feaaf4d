import { exerciseAdapters } from './exercise-mysql-adapters.js';

exerciseAdapters('mariadb');
