import type { Command } from '../command.js';

/** `tarefa worker`. */
export const workerCommand: Command = {
  name: 'worker',
  summary: 'delivers webhooks until it is told to stop: a worker without code',
  usage: '--webhooks',
  description:
    'Delivers what belongs to subscriptions with a URL, fans publications out, retries, recovers and purges, and leaves tasks ' +
    'that need code to your application.\n\n' +
    'Ctrl-C, SIGTERM and `tarefa halt` stop it, and so does the end of whoever reads its log (`| head`): requests under way end ' +
    'first, for at most --shutdown-timeout. The exit code is 0 when it was told to stop, 2 when it could not start. When the ' +
    'database goes it waits for it to come back.\n\n' +
    'Keys that signing secrets are encrypted with come from the variable WEBHOOK_SECRET_KEYS (several: with commas), because ' +
    'others see the arguments of a process.',
  options: {
    webhooks: {
      type: 'boolean',
      description: 'delivers webhooks; required, as there is nothing else it could do',
    },
    concurrency: { type: 'string', value: '<n>', description: 'requests at once. Default 100' },
    'endpoint-concurrency': {
      type: 'string',
      value: '<n>',
      description: 'requests at once to one endpoint. Default 5',
    },
    timeout: {
      type: 'string',
      value: '<seconds>',
      description: 'for a request. Default: DEFAULT_WEBHOOK_TIMEOUT, else 20',
    },
    allow: {
      type: 'string',
      multiple: true,
      value: '<address>',
      description: 'an address, CIDR range or host name that requests may go to, besides the public internet',
    },
    redirects: {
      type: 'string',
      value: '<refuse|follow>',
      description: 'what becomes of them. Default refuse',
    },
    schedule: {
      type: 'string',
      value: '<queue|standard>',
      description: 'when attempts follow. Default queue',
    },
    'shutdown-timeout': {
      type: 'string',
      value: '<seconds>',
      description: 'for what runs when it is told to stop. Default 20',
    },
  },
  examples: [
    'tarefa worker --webhooks',
    'tarefa worker --webhooks --concurrency 20 --allow crm.internal --allow 10.20.0.0/16 --json',
  ],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-worker.js')).runWorker(call),
};
