import type { Command } from '../command.js';

/** `tarefa worker`. */
export const workerCommand: Command = {
  name: 'worker',
  summary: 'delivers webhooks until it is stopped: a worker without code',
  usage: '--webhooks',
  description:
    'Delivers to subscriptions with a URL, fans out publications, retries, recovers and purges, and leaves tasks that need ' +
    'code to your application.\n\n' +
    'Ctrl-C, SIGTERM and `tarefa halt` stop it, and so does the end of the program that reads its log (`| head`): requests in ' +
    'flight finish first, for at most --shutdown-timeout. The exit code is 0 when it was stopped, 2 when it could not start. If ' +
    'the database becomes unreachable, it waits for it to come back.\n\n' +
    'The keys that encrypt signing secrets come from the variable WEBHOOK_SECRET_KEYS (separated by commas), because other ' +
    'users can see the arguments of a process.',
  options: {
    webhooks: {
      type: 'boolean',
      description: 'delivers webhooks; required, as there is no other work for it',
    },
    concurrency: { type: 'string', value: '<n>', description: 'concurrent requests. Default 100' },
    'endpoint-concurrency': {
      type: 'string',
      value: '<n>',
      description: 'concurrent requests to one endpoint. Default 5',
    },
    timeout: {
      type: 'string',
      value: '<seconds>',
      description: 'time limit of a request. Default: DEFAULT_WEBHOOK_TIMEOUT, else 20',
    },
    allow: {
      type: 'string',
      multiple: true,
      value: '<address>',
      description:
        'an address, CIDR range or host name that requests may also go to, apart from the public internet',
    },
    redirects: {
      type: 'string',
      value: '<refuse|follow>',
      description: 'what to do with redirects. Default refuse',
    },
    schedule: {
      type: 'string',
      value: '<queue|standard>',
      description: 'when the next attempts are made. Default queue',
    },
    'shutdown-timeout': {
      type: 'string',
      value: '<seconds>',
      description: 'how long running requests may take when it is stopped. Default 20',
    },
  },
  examples: [
    'tarefa worker --webhooks',
    'tarefa worker --webhooks --concurrency 20 --allow crm.internal --allow 10.20.0.0/16 --json',
  ],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-worker.js')).runWorker(call),
};
