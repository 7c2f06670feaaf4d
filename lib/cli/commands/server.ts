import type { Command } from '../command.js';

/** `tarefa server`. */
export const serverCommand: Command = {
  name: 'server',
  summary: "wakes workers and keeps their locks by TCP: the server of nsj-queue-lib's client-server mode",
  usage: '',
  description:
    'Workers of nsj-queue-lib with CLIENT_SERVER_MODE=TRUE connect to it instead of the server of that library: it tells those that ' +
    'wait when a task is due, and keeps their locks, each of which goes with the connection that took it. The queue stays in its ' +
    'table, which is made if it is missing; one of nsj-queue-lib has to be adopted first.\n\n' +
    'It listens on this computer only. The wire has neither authentication nor encryption: with --host, --allow-unauthenticated has to ' +
    'say that you know it. One server serves one queue.\n\n' +
    'Ctrl-C and SIGTERM stop it. When the database goes it waits for it to come back.',
  options: {
    host: { type: 'string', value: '<address>', description: 'where it listens. Default 127.0.0.1' },
    'allow-unauthenticated': {
      type: 'boolean',
      description: 'whoever reaches the ports may wake workers and take locks; required for another --host',
    },
    'notify-port': {
      type: 'string',
      value: '<n>',
      description: 'where workers wait. Default: NOTIFY_SERVICE_PORT, else 8770',
    },
    'lock-port': {
      type: 'string',
      value: '<n>',
      description: 'where routines lock. Default: LOCK_SERVICE_PORT, else 8970',
    },
    'max-clients': {
      type: 'string',
      value: '<n>',
      description: 'workers that may be connected. Default: MAX_CLIENT_THREADS, else 50',
    },
    'check-interval': {
      type: 'string',
      value: '<seconds>',
      description: 'how often it looks for due tasks. Default: CHECK_TASKS_INTERVAL, else 15',
    },
    'idle-timeout': {
      type: 'string',
      value: '<seconds>',
      description:
        'how long a connection without a lock may say nothing at the lock port. Default: LOCK_SERVICE_WAIT_CONN_INTERVAL, else 30',
    },
    'message-timeout': {
      type: 'string',
      value: '<seconds>',
      description: 'for one message, and for the answer of a worker. Default: TIMEOUT_SOCKET_MESSAGE, else 5',
    },
  },
  examples: ['tarefa server', 'tarefa server --host 10.0.0.5 --allow-unauthenticated --max-clients 200'],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-server.js')).runServer(call),
};
