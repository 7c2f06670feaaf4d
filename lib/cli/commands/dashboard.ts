import type { Command } from '../command.js';
import { interopOption } from '../common-options.js';
import { redactOption } from '../show/redact-option.js';

/** `tarefa dashboard`. */
export const dashboardCommand: Command = {
  name: 'dashboard',
  summary: 'serves a page that shows the queue, to this computer only',
  usage: '',
  description:
    'Serves the dashboard on loopback until Ctrl-C, and says its address, which has a key in it: without that key nobody else ' +
    'on this computer sees it. It is read-only unless --actions is given. Your application can serve the same page to your ' +
    'colleagues: the option dashboard of QueueModule.\n\n' +
    'It needs @nestjs/platform-express or @nestjs/platform-fastify, one of which an application with controllers has.',
  options: {
    port: { type: 'string', value: '<n>', description: 'where it listens. Default: any free port' },
    actions: { type: 'boolean', description: 'lets tasks and subscriptions be changed from it' },
    'no-payloads': { type: 'boolean', description: 'shows no payloads' },
    ...interopOption,
    ...redactOption,
  },
  examples: ['tarefa dashboard', 'tarefa dashboard --port 4000 --actions --redact cpf'],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-dashboard.js')).runDashboard(call),
};
