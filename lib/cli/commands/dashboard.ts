import type { Command } from '../command.js';
import { interopOption } from '../common-options.js';
import { redactOption } from '../show/redact-option.js';

/** `tarefa dashboard`. */
export const dashboardCommand: Command = {
  name: 'dashboard',
  summary: 'serves the dashboard of the queue, to this computer only',
  usage: '',
  description:
    'Serves the dashboard on loopback until Ctrl-C, and prints its address, which contains a key: without the key, other users ' +
    'of this computer cannot open it. It is read-only unless --actions is given. Your application can serve the same page to ' +
    'your colleagues: see the option `dashboard` of QueueModule.\n\n' +
    'Requires @nestjs/platform-express or @nestjs/platform-fastify; an application with controllers already has one of them.',
  options: {
    port: { type: 'string', value: '<n>', description: 'the port to listen on. Default: any free port' },
    actions: { type: 'boolean', description: 'allows tasks and subscriptions to be changed from it' },
    'no-payloads': { type: 'boolean', description: 'hides payloads' },
    ...interopOption,
    ...redactOption,
  },
  examples: ['tarefa dashboard', 'tarefa dashboard --port 4000 --actions --redact cpf'],
  // Loaded for this command only: the other ones need no Nest.
  run: async (call) => (await import('../run-dashboard.js')).runDashboard(call),
};
