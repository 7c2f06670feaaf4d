/**
 * The advisory lock that the notify job of nsj-queue-lib holds in its session while it makes due tasks pending: a bare
 * number, shared by all its queues of a database. 1 and 2 are its retry and its purge job. Tasks with these ids have the
 * same locks.
 */
export const nsjNotifyLock = 3;
