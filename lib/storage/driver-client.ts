import type { PoolClient } from 'pg';

/**
 * The driver's own client of a transaction or connection, for libraries that take one. They declare the class of their driver,
 * and refuse a structural copy of it as soon as a version of `@types/pg` has one method more: this is the only place outside of
 * a database's folder that names it.
 */
export type DriverClient = PoolClient;
