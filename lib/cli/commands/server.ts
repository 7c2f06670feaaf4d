import type { Command } from '../command.js';

/** `tarefa server`. */
export const serverCommand: Command = {
  name: 'server',
  summary: "wakes workers and holds their locks over TCP: the server of nsj-queue-lib's client-server mode",
  usage: '',
  description:
    'Workers of nsj-queue-lib with CLIENT_SERVER_MODE=TRUE connect to it instead of the server of that library: it tells waiting ' +
    'workers when a task is due, and holds their locks, each of which is released when the connection that took it closes. The ' +
    'queue stays in its table, which is created if it is missing; a table of nsj-queue-lib must be adopted first.\n\n' +
    'It listens on this computer only. The protocol has neither authentication nor encryption: --host requires ' +
    '--allow-unauthenticated, to confirm that you know this. One server serves one queue.\n\n' +
    'Ctrl-C and SIGTERM stop it. If the database becomes unreachable, it waits for it to come back.',
  options: {
    host: { type: 'string', value: '<address>', description: 'the address to listen on. Default 127.0.0.1' },
    'allow-unauthenticated': {
      type: 'boolean',
      description: 'whoever can reach the ports may wake workers and take locks; required for another --host',
    },
    'notify-port': {
      type: 'string',
      value: '<n>',
      description: 'the port where workers wait. Default: NOTIFY_SERVICE_PORT, else 8770',
    },
    'lock-port': {
      type: 'string',
      value: '<n>',
      description: 'the port where routines lock. Default: LOCK_SERVICE_PORT, else 8970',
    },
    'max-clients': {
      type: 'string',
      value: '<n>',
      description: 'how many workers may be connected. Default: MAX_CLIENT_THREADS, else 50',
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
        'how long a connection without a lock may be silent on the lock port. Default: LOCK_SERVICE_WAIT_CONN_INTERVAL, else 30',
    },
    'message-timeout': {
      type: 'string',
      value: '<seconds>',
      description:
        'time limit for one message, and for the answer of a worker. Default: TIMEOUT_SOCKET_MESSAGE, else 5',
    },
  },
  examples: ['tarefa server', 'tarefa server --host 10.0.0.5 --allow-unauthenticated --max-clients 200'],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-server.js')).runServer(call),
};
